"""Everything is refused by default: every address, every method, with a key and with a session."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User

from capture.api import run_views, views
from capture.api.urls import OPERATIONS
from capture.models import AgentCallRecord
from tests.build import HAND, TABLE, play, seat
from tests.described import DescribedHttp as Http

pytestmark = pytest.mark.django_db

KEYS = "/internal/agent-capture/"
STAFF = "/api/hosted-agent/"
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]
PATHS = [
    *(each.path for each in OPERATIONS),
    "",
    "nothing",
    "hand/",
    "admin/../hand",
    "%00",
    "hand%2F..%2Fpromote",
]
GARBAGE = [
    "",
    "x",
    "operator",
    "é" * 20,
    "a" * 100_000,
    "\x7f",
    "adc_000000000000_" + "A" * 43,
    "Bearer x",
    "[]",
]
SEAT: dict[str, str | int] = {"tableId": TABLE, "handNumber": HAND, "agentId": "river-rat"}


@pytest.fixture(autouse=True)
def _keys(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = "nobody:ingest@somebody-else:nobody-key-0123456789abcdef"


def staff(*rights: str, **fields: Any) -> Http:
    user = User.objects.create_user("kim", is_staff=True, **fields)
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client = Http(enforce_csrf_checks=True)
    client.force_login(user)
    return client


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", METHODS)
def test_without_a_key_every_address_and_method_is_401(method: str, path: str) -> None:
    answer = Http().generic(method, KEYS + path)
    assert answer.status_code == 401
    assert method == "HEAD" or json.loads(answer.content)["error"]["code"] == "no_key"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", METHODS)
def test_without_a_session_every_address_and_method_is_refused(method: str, path: str) -> None:
    answer = Http(enforce_csrf_checks=True).generic(method, STAFF + path)
    assert answer.status_code in (401, 403)
    assert method == "HEAD" or json.loads(answer.content)["error"]["code"] in ("no_session", "forbidden")


@pytest.mark.parametrize("key", GARBAGE)
def test_any_garbage_in_the_header_is_401(key: str) -> None:
    for each in OPERATIONS:
        assert (
            Http().generic(each.method, KEYS + each.path, headers={"X-Service-Key": key}).status_code == 401
        )


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.path)
@pytest.mark.parametrize("method", METHODS)
def test_another_method_or_scope_is_refused_whatever_the_key(operation: Any, method: str) -> None:
    head = {"X-Service-Key": "nobody-key-0123456789abcdef"}
    answer = Http().generic(method, KEYS + operation.path, headers=head)
    if method == operation.method or (method, operation.method) == ("HEAD", "GET"):
        assert answer.status_code == (400 if operation.batch else 200 if operation.is_for_everybody else 403)
    else:
        assert (answer.status_code, answer["Allow"]) == (405, operation.method)


def test_every_operation_names_its_scopes() -> None:
    assert all(each.scopes for each in OPERATIONS)
    assert {each.view.__module__ for each in OPERATIONS} == {views.__name__, run_views.__name__}


def test_a_session_reads_by_permission(buffer: Any) -> None:
    play(seat(), 1)
    client = staff("view_agentcallrecord")
    answer = client.get(f"{STAFF}hand", SEAT).json()
    assert len(answer["turns"]) == 1
    hand: dict[str, str | int] = {"tableId": TABLE, "handNumber": HAND}
    assert client.get(f"{STAFF}hand-all", hand).status_code == 200
    assert client.get(f"{STAFF}recent-hands").json()["hands"][0]["handNumber"] == HAND


def test_staff_without_the_permission_reads_nothing(buffer: Any) -> None:
    answer = staff().get(f"{STAFF}hand", SEAT)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


def test_somebody_who_is_no_staff_reads_nothing() -> None:
    client = Http()
    client.force_login(User.objects.create_user("olga"))
    assert client.get(f"{STAFF}hand", SEAT).status_code == 403


def post(client: Http, path: str, **head: str) -> Any:
    return client.post(STAFF + path, SEAT, content_type="application/json", headers=head)


def test_a_post_with_a_session_needs_the_csrf_token_too(buffer: Any) -> None:
    play(seat(), 1)
    client = staff("view_agentcallrecord", "pin_hand")
    assert post(client, "promote").json()["error"]["code"] == "forbidden"
    assert not AgentCallRecord.objects.exists()
    client.get("/admin/")
    client.get("/admin/password_change/")
    token = client.cookies["csrftoken"].value
    assert post(client, "promote", **{"X-CSRFToken": token}).json()["status"] == "pinned"


def test_keeping_by_session_needs_its_own_permission(buffer: Any) -> None:
    client = staff("view_agentcallrecord")
    client.handler.enforce_csrf_checks = False
    assert post(client, "promote").status_code == 403


def test_nobody_ingests_by_session(buffer: Any) -> None:
    client = staff(is_superuser=True)
    client.handler.enforce_csrf_checks = False
    assert post(client, "turns").status_code == 403


def test_a_session_opens_no_door_for_programs(buffer: Any) -> None:
    assert staff("view_agentcallrecord").get(f"{KEYS}hand", SEAT).status_code == 401


def test_a_key_opens_no_door_for_staff(buffer: Any) -> None:
    head = {"X-Service-Key": "nobody-key-0123456789abcdef"}
    assert Http().get(f"{STAFF}hand", SEAT, headers=head).status_code == 401


def test_djangos_own_refusals_have_the_same_shape(settings: Any) -> None:
    answer = Http().get(f"{KEYS}hand", headers={"host": "elsewhere.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_value")


def test_a_fault_of_ours_has_it_too_and_says_nothing_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr("capture.api.doors.caller_of_key", fail)
    answer = Http(raise_request_exception=False).get(f"{KEYS}hand")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "broken")
    assert "hunter2" not in answer.content.decode()


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("agentID=a", "agentID"),
        ("agentId=a&agentId=b", "agentId"),
        ("x=1", "x"),
        ("agentId=a&tableId=t&tableId=u", "tableId"),
    ],
)
def test_a_parameter_that_is_unknown_or_doubled_is_400(settings: Any, query: str, field: str) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = "reader:read-own:reader-key-0123456789abcdef"
    path = f"{KEYS}hand?{query}&handNumber=1" + ("" if "tableId" in query else "&tableId=t")
    path += "" if "agentId" in query else "&agentId=a"
    answer = Http().get(path, headers={"X-Service-Key": "reader-key-0123456789abcdef"})
    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, [field])
