"""What is asked with a body or a parameter, and what is refused of it, are as the API describes them."""

import datetime
from typing import Any

import pytest

from capture.api.parameters import MOMENT_SCHEMA, moment
from capture.limits import BATCH_BYTES
from capture.pins.pin import PinDamaged
from capture_sdk.codec import encode
from capture_sdk.errors import IdError
from capture_sdk.wire import turn_json
from tests.build import HAND, TABLE, memory_client
from tests.described import DescribedHttp, assert_conforms, description, operations
from tests.site_process import PRODUCTION, run

pytestmark = pytest.mark.django_db

ROOT = "/internal/agent-capture/"
KEY = "operator-key-0123456789abcdef"
SEAT = {"tableId": TABLE, "handNumber": HAND, "agentId": "river-rat"}


@pytest.fixture(autouse=True)
def _keys(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"operator:read-own+read-all+promote+ingest:{KEY}"


def get(path: str, **params: Any) -> Any:
    return DescribedHttp(headers={"X-Service-Key": KEY}).get(ROOT + path, params)


def post(path: str, body: Any, **head: str) -> Any:
    client = DescribedHttp(headers={"X-Service-Key": KEY} | head, raise_request_exception=False)
    return client.post(ROOT + path, body, content_type="application/json")


def test_every_kind_of_result_is_described(buffer: Any) -> None:
    answer = post("turns", {"turns": [turn_json(b"", None, None), 7, {"record": "%"}]}).json()
    assert {each["status"] for each in answer["results"]} == {"refused"}
    taken = {"results": [{"status": "envelope_needed"}, {"status": "written"}]}
    assert_conforms(taken, {"$ref": "#/components/schemas/Results"})


def test_a_turn_that_the_buffer_does_not_take_is_described(buffer: Any) -> None:
    own, transport = memory_client()
    with own.turn(table_id=TABLE, hand_number=HAND, agent_id="river-rat", action_index=1) as turn:
        turn.response("fold")
    assert own.flush(5)
    item = turn_json(encode(transport.records()[0]), None, None)
    before = buffer.config_get("maxmemory")["maxmemory"]
    buffer.config_set("maxmemory", 1)
    try:
        (result,) = post("turns", {"turns": [item]}).json()["results"]
    finally:
        buffer.config_set("maxmemory", before)
    assert result["status"] == "failed"


@pytest.mark.parametrize(
    ("path", "body", "head", "status"),
    [
        ("promote", b"{", {}, 400),
        ("promote", b" " * 70_000, {}, 413),
        ("promote", b"{}", {"Content-Encoding": "br"}, 415),
        ("turns", {"turns": [0] * 1_001}, {}, 413),
        ("charges", {"turns": []}, {}, 400),
        ("hand", {}, {}, 405),
        ("nowhere", {}, {}, 404),
    ],
)
def test_each_error_of_a_body_is_described(path: str, body: Any, head: Any, status: int) -> None:
    assert post(path, body, **head).status_code == status


@pytest.mark.parametrize(("error", "code"), [(PinDamaged("odd"), "damaged"), (RuntimeError("odd"), "broken")])
def test_each_fault_of_ours_is_described(monkeypatch: Any, error: Exception, code: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("capture.pins.pin.promote", fail)
    answer = post("promote", SEAT)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, code)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"x": None}, "x"),
        ({"x": ""}, "x"),
        ({"handNumber": 2.5}, "handNumber"),
        ({"handNumber": 2.0**60}, "handNumber"),
    ],
)
def test_what_the_description_refuses_of_a_command_is_refused(buffer: Any, body: Any, field: str) -> None:
    answer = post("promote", SEAT | body)
    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, [field])


@pytest.mark.parametrize("number", [42, 42.0, "42", "0000000000000000042"])
def test_a_commands_numbers_are_taken_as_described(buffer: Any, number: object) -> None:
    body = SEAT | {"handNumber": number}
    command = description()["paths"]["/promote"]["post"]["requestBody"]["content"]["application/json"]
    assert_conforms(body, command["schema"])
    assert post("promote", body).json()["status"] == "nothing_to_capture"


def required_of(operation: dict[str, Any]) -> set[str]:
    """What the description says must be given."""
    if "requestBody" in operation:
        return set(operation["requestBody"]["content"]["application/json"]["schema"].get("required", ()))
    return {each["name"] for each in operation["parameters"] if each["required"]}


@pytest.mark.parametrize(("path", "method", "operation"), operations(), ids=lambda each: str(each)[:20])
def test_what_is_said_to_be_required_is_what_is_missed(
    buffer: Any, path: str, method: str, operation: dict[str, Any]
) -> None:
    answer = get(path[1:]) if method == "get" else post(path[1:], {})
    missed = set(answer.json()["error"]["fields"]) if answer.status_code == 400 else set()
    batch = (
        path.rpartition("/")[2]
        if operation.get("requestBody", {}).get("x-max-bytes") == BATCH_BYTES
        else None
    )
    assert missed == ({batch} if batch else required_of(operation))


def test_an_empty_parameter_is_as_if_it_were_not_given(buffer: Any) -> None:
    assert get("recent-hands", limit="").status_code == 200
    assert get("recent-hands", nothing="").status_code == 400


@pytest.mark.parametrize(
    "given", ["2026-01-31T12:00:00Z", "2026-01-31T14:59:00.000001234+14:59", "1000-01-01T00:00:00-08:00"]
)
def test_a_moment_that_is_as_described_is_taken_in_utc(given: str) -> None:
    assert_conforms(given, MOMENT_SCHEMA)
    assert moment("since", given).utcoffset() == datetime.timedelta(0)


@pytest.mark.parametrize(
    "given", ["", "now", "2026-01-31T12:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"]
)
def test_a_moment_that_no_clock_here_takes_is_refused_by_name(given: str) -> None:
    with pytest.raises(IdError, match="since"):
        moment("since", given)


STAFF_ASKS = """
import django; django.setup()
from django.test import Client
client = Client(headers={"host": "capture.example.org"})
client.cookies["sessionid"] = "a-session-of-somebody"
answer = client.get("/api/hosted-agent/recent-hands", secure=True)
print(answer.status_code, answer.json()["error"]["code"])
"""


def test_a_session_that_cannot_be_looked_up_is_503_in_the_one_shape(redis_url: str) -> None:
    site = {"AGENT_CAPTURE_REDIS_URL": redis_url, "DJANGO_SETTINGS_MODULE": "capture_site.settings"}
    finished = run("-c", STAFF_ASKS, environment=PRODUCTION | site)
    assert finished.stdout.strip() == "503 store_unavailable", finished.stderr
