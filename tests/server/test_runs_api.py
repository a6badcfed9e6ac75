"""Runs through the API: read, listed, kept and opened by whom they may, and every answer as described."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import OperationalError

from capture.models import AgentAccess, AgentRun
from capture_sdk.keys import artifact_key
from capture_sdk.runs.records import RunKey, artifact_ref
from tests.described import DescribedHttp, description
from tests.runs import AGENT, KEY, a_run, artifact, buffered, event

pytestmark = pytest.mark.django_db

ROOT, STAFF = "/internal/agent-capture/", "/api/hosted-agent/"
RUN = {"agentId": AGENT, "runId": KEY.run_id}
KEYS = {
    "operator": "operator-key-0123456789abcdef",
    "reader": "reader-key-0123456789abcdef",
    "owner": "owner-key-0123456789abcdef",
    "rival": "rival-key-0123456789abcdef",
    "dealer": "dealer-key-0123456789abcdef",
}


@pytest.fixture(autouse=True)
def _keys(settings: Any) -> None:
    scopes = {
        "operator": "read-all+promote",
        "reader": "read-own",
        "owner": f"read-own+read-all+promote@{AGENT}",
        "rival": "read-own+promote@rival",
        "dealer": "ingest",
    }
    settings.AGENT_CAPTURE_SERVICE_KEYS = ";".join(
        f"{name}:{scope}:{KEYS[name]}" for name, scope in scopes.items()
    )


def get(path: str, who: str = "operator", **params: Any) -> Any:
    return DescribedHttp(headers={"X-Service-Key": KEYS[who]}).get(ROOT + path, params)


def post(path: str, body: Any, who: str = "operator") -> Any:
    client = DescribedHttp(headers={"X-Service-Key": KEYS[who]})
    return client.post(ROOT + path, body, content_type="application/json")


def keys_of(name: str) -> set[str]:
    return set(description()["components"]["schemas"][name]["required"])


@pytest.fixture
def run(buffer: Any) -> Any:
    events, artifacts = a_run(project="p", service="s", hand={"tableId": "t", "handNumber": 7})
    buffered(events, artifacts)
    return buffer


def test_a_run_is_answered_whole(run: Any) -> None:
    answer = get("run", **RUN).json()
    events, artifacts = a_run(project="p", service="s", hand={"tableId": "t", "handNumber": 7})
    assert set(answer) == keys_of("Run")
    assert {name for name, value in answer.items() if value is None} == {"nextAfter", "wentOnAt"}
    assert [each["eventId"] for each in answer["events"]] == [each.event_id for each in events]
    assert answer["events"][1]["body"]["request"] == artifact_ref(artifacts[0])
    assert answer["events"][0]["body"]["metadata"] == {"claim": 7}
    assert (answer["status"], answer["state"], answer["total"], answer["kept"]) == ("ok", "live", 7, 0)
    assert (answer["hand"], answer["counts"]["tool.proposed"]) == ({"tableId": "t", "handNumber": 7}, 1)


def test_whatever_was_recorded_is_strict_json(buffer: Any) -> None:
    odd = {"n": 2**70, "half": "\ud83d", "bytes": b"\xff", "nan": float("nan"), "huge": 10**5_000}
    buffered([event(0, "my.own", data=odd), event(5)])
    buffer.hset("run:claims-agent:run-1", "damaged", b"x")
    answer = get("run", **RUN).json()
    data = answer["events"][0]["body"]["data"]
    assert (data["n"], data["bytes"], data["nan"]) == (2**70, {"$bytes": "/w=="}, {"$float": "nan"})
    assert answer["gaps"] == [{"writer": "w", "first": 1, "last": 4, "isLost": False}]
    assert answer["damaged"] == ["damaged"]


def test_a_long_run_is_read_page_by_page(buffer: Any) -> None:
    buffered([event(number) for number in range(7)])
    found: list[str] = []
    params: dict[str, Any] = {"limit": 3, **RUN}
    for size in (3, 3, 1):
        answer = get("run", **params).json()
        assert (len(answer["events"]), answer["total"]) == (size, 7)
        found += [each["eventId"] for each in answer["events"]]
        params["after"] = answer["nextAfter"]
    assert answer["nextAfter"] is None
    assert found == [f"w-{number}" for number in range(7)]
    assert get("run", after="nobody", **RUN).status_code == 404


def test_runs_are_listed_and_narrowed(run: Any) -> None:
    buffered([event(0, key=RunKey("rival", "r"))])
    page = get("runs").json()
    assert set(page) == keys_of("Runs")
    assert set(page["runs"][0]) == keys_of("RunHead")
    assert [each["runId"] for each in page["runs"]] == ["r", "run-1"]
    first = get("runs", limit=1).json()
    assert [each["runId"] for each in get("runs", limit=1, cursor=first["nextCursor"]).json()["runs"]] == [
        "run-1"
    ]
    for narrowed in (
        {"agentId": AGENT},
        {"name": "settle"},
        {"nameBegins": "set"},
        {"project": "p"},
        {"service": "s"},
        {"status": "ok"},
        {"kind": "tool.started"},
        {"hand": "t:7"},
        {"state": "live", "status": "ok", "since": "2026-01-01T00:00:00Z"},
    ):
        assert [each["runId"] for each in get("runs", **narrowed).json()["runs"]] == ["run-1"]
    assert get("runs", until="2026-01-01T00:00:00Z").json()["runs"] == []
    for wrong in ({"cursor": "x"}, {"hand": "t"}, {"status": "fine"}, {"limit": 201}, {"kind": "\0"}):
        assert get("runs", **wrong).status_code == 400


def test_a_run_is_kept_and_says_so(run: Any) -> None:
    assert post("run/keep", RUN).json() == {"status": "pinned", "inserted": 7, "total": 7, "missing": 0}
    assert post("run/keep", RUN, "owner").json()["status"] == "already_pinned"
    assert post("run/keep", RUN | {"runId": "none"}).json()["status"] == "nothing_to_capture"
    run.flushall()
    assert get("run", **RUN).json()["state"] == "kept"


def test_an_artifact_is_the_exact_bytes(run: Any) -> None:
    answer = artifact("pay the claim")
    found = get("run/artifact", eventId="w-2", sha256=answer.sha256, **RUN)
    assert (found.content, found["X-Artifact-Sha256"]) == (answer.data, answer.sha256)
    assert (found["X-Content-Type-Options"], found["Content-Type"]) == ("nosniff", "application/octet-stream")
    assert get("run/artifact", eventId="w-1", sha256=answer.sha256, **RUN).status_code == 404
    assert get("run/artifact", eventId="w-2", sha256="\0" * 64, **RUN).status_code == 400
    run.delete(artifact_key(answer.sha256))
    assert get("run/artifact", eventId="w-2", sha256=answer.sha256, **RUN).status_code == 410


def test_a_run_that_is_not_there_is_told_apart(buffer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get("run", **RUN).status_code == 404
    buffered([event(0)])
    buffer.delete("run:claims-agent:run-1")
    assert (get("run", **RUN).status_code, get("run/quality", **RUN).status_code) == (410, 410)

    def down(_: object) -> None:
        raise OperationalError("down")

    monkeypatch.setattr("capture.runs.reading.kept_run", down)
    assert get("run", **RUN).status_code == 503


@pytest.mark.usefixtures("dead_buffer")
def test_without_the_buffer_keeping_and_taking_are_503() -> None:
    assert post("run/keep", RUN).status_code == 503
    item = RUN | {"eventId": "e", "kind": "event"}
    assert post("runs/events", {"events": [item]}, "dealer").status_code == 503
    assert get("runs").json()["sources"] == {"buffer": "unavailable", "durable": "ok"}


@pytest.mark.parametrize(
    ("who", "path", "status"),
    [
        ("reader", "runs", 403),  # every agent's
        ("reader", f"runs?agentId={AGENT}", 200),
        ("owner", "runs", 403),
        ("owner", f"runs?agentId={AGENT}", 200),
        ("owner", "runs?agentId=rival", 403),
        ("rival", f"runs?agentId={AGENT}", 403),
        ("rival", f"run?agentId={AGENT}&runId=run-1", 403),
        ("rival", f"run/quality?agentId={AGENT}&runId=run-1", 403),
        ("rival", f"run/artifact?agentId={AGENT}&runId=run-1&eventId=w-2&sha256={'0' * 64}", 403),
        ("dealer", f"run?agentId={AGENT}&runId=run-1", 403),
        ("reader", f"run?agentId={AGENT}&runId=run-1", 200),
        ("operator", f"run/quality?agentId={AGENT}&runId=run-1", 200),
    ],
)
def test_each_caller_sees_what_it_may(run: Any, who: str, path: str, status: int) -> None:
    assert get(path, who).status_code == status


def test_each_caller_keeps_what_it_may(run: Any) -> None:
    assert [post("run/keep", RUN, who).status_code for who in ("rival", "reader", "owner")] == [403, 403, 200]


def test_an_owner_opens_nobody_elses_artifact_by_its_hash(run: Any) -> None:
    theirs, told = artifact("pay the claim"), RunKey("rival", "r")
    for body in ({"output": artifact_ref(theirs)}, {"output": {"$artifact": theirs.sha256, "x": 1}}):
        item = {"agentId": "rival", "runId": "r", "eventId": "e", "kind": "event", "body": body}
        assert post("runs/events", {"events": [item]}, "dealer").json()["results"][0]["status"] == "written"
        asked = get(
            "run/artifact", "rival", eventId="e", sha256=theirs.sha256, agentId="rival", runId=told.run_id
        )
        assert asked.status_code == 404


def test_quality_answers_every_line(run: Any) -> None:
    buffered([event(7, "checkpoint", name="input.loaded", state={"a": 1}, isWhole=True)])
    answer = get("run/quality", **RUN).json()
    assert set(answer) == keys_of("RunQuality")
    assert len(answer["lines"]) > 15
    assert {each["code"] for each in answer["lines"] if each["state"] == "met"} >= {"call.provider"}
    (point,) = answer["branchPoints"]
    assert (point["name"], point["verdict"]) == ("input.loaded", "unsafe")
    assert len(answer["places"]) == 4


def test_every_access_is_a_line_that_names_the_run(run: Any) -> None:
    get("run", **RUN)
    get("run/artifact", eventId="w-2", sha256=artifact("pay the claim").sha256, **RUN)
    post("run/keep", RUN)
    lines = AgentAccess.objects.order_by("id").values_list("actor", "action", "run_id", "agents", "table_id")
    said = [("key:operator", action, "run-1", [AGENT], "") for action in ("read_run", "artifact", "keep_run")]
    assert list(lines) == said


def test_staff_read_and_keep_by_session(run: Any) -> None:
    user = User.objects.create_user("kim", is_staff=True)
    client = DescribedHttp()
    client.force_login(user)
    assert client.get(f"{STAFF}run", RUN).status_code == 403
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_agentcallrecord", "pin_hand"]))
    assert client.get(f"{STAFF}runs").status_code == 200
    assert client.get(f"{STAFF}run", RUN).status_code == 200
    kept = client.post(f"{STAFF}run/keep", RUN, content_type="application/json")
    assert kept.json()["status"] == "pinned"
    assert client.post(f"{STAFF}runs/events", {}, content_type="application/json").status_code == 403


def test_a_read_costs_few_queries(run: Any, django_assert_max_num_queries: Any) -> None:
    post("run/keep", RUN)
    with django_assert_max_num_queries(3):  # the line of the access log is one
        get("run", **RUN)


def test_the_admin_shows_kept_runs_without_what_they_hold(run: Any) -> None:
    post("run/keep", RUN)
    client = DescribedHttp()
    client.force_login(User.objects.create_superuser("root"))
    row = AgentRun.objects.get()
    for page in ("", f"{row.pk}/change/"):
        answer = client.get(f"/admin/capture/agentrun/{page}")
        assert answer.status_code == 200
        assert AGENT in answer.content.decode()
    assert client.post(f"/admin/capture/agentrun/{row.pk}/delete/", {"post": "yes"}).status_code == 403
