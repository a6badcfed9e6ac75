"""Events of runs by HTTP: the SDK's own form and plain JSON, item by item, hostile ones included."""

import base64
from typing import Any

import pytest

from capture.runs.reading import read_artifacts, read_run
from capture_sdk.codec import fields_of, frame, unframe
from capture_sdk.freeze import repack
from capture_sdk.keys import artifact_key
from capture_sdk.runs.records import RunEvent, RunKey, artifact_ref, encode_event
from capture_sdk.wire import event_json
from tests.described import DescribedHttp
from tests.runs import AGENT, KEY, RUN, a_run, artifact, event

pytestmark = pytest.mark.django_db

DEALER, BOUND = "dealer-key-0123456789abcdef", "bound-key-0123456789abcdef"
PLAIN = {"agentId": AGENT, "runId": RUN, "eventId": "e-1", "kind": "event"}


@pytest.fixture(autouse=True)
def _keys(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"dealer:ingest:{DEALER};bound:ingest@somebody:{BOUND}"


def send(*items: object, key: str = DEALER) -> list[dict[str, str]]:
    client = DescribedHttp(headers={"X-Service-Key": key})
    path = "/internal/agent-capture/runs/events"
    answer = client.post(path, {"events": list(items)}, content_type="application/json")
    assert answer.status_code == 200, answer.content
    results: list[dict[str, str]] = answer.json()["results"]
    return results


def statuses(*items: object, key: str = DEALER) -> list[str]:
    return [each["status"] for each in send(*items, key=key)]


def packed(event: RunEvent, *artifacts: tuple[str, bytes | None]) -> dict[str, object]:
    return event_json(encode_event(event), artifacts)


def test_the_sdks_form_is_taken_and_artifacts_are_asked_for(buffer: Any) -> None:
    events, artifacts = a_run()
    by_hash = [(each.sha256, None) for each in artifacts]
    assert statuses(*(packed(each, *by_hash) for each in events)) == [
        *("written", "artifact_needed", "artifact_needed"),
        *("written",) * 4,
    ]
    with_data = [(each.sha256, frame(each.data)) for each in artifacts]
    assert statuses(packed(events[1], *with_data), packed(events[2], *with_data)) == ["written"] * 2
    run = read_run(KEY)
    assert [each.event_id for each in run.events] == [each.event_id for each in events]
    assert read_artifacts(each.sha256 for each in artifacts) == {each.sha256: each.data for each in artifacts}
    again = event(8, output=artifact_ref(artifacts[0]))
    assert statuses(packed(again), packed(again)) == ["written"] * 2  # its run has it


def test_a_hash_opens_nothing_of_another_run(buffer: Any) -> None:
    told = artifact("told")
    first, second = RunKey(AGENT, "a"), RunKey(AGENT, "b")
    sent = packed(event(0, key=first, output=artifact_ref(told)), (told.sha256, frame(told.data)))
    assert statuses(sent) == ["written"]
    assert statuses(packed(event(0, key=second, output=artifact_ref(told)))) == ["artifact_needed"]
    buffer.delete(artifact_key(told.sha256))
    assert statuses(packed(event(1, key=first, output=artifact_ref(told)))) == ["artifact_needed"]


def test_one_batch_may_bring_an_artifact_once(buffer: Any) -> None:
    told = artifact("told")
    first = packed(event(0, output=artifact_ref(told)), (told.sha256, frame(told.data)))
    assert statuses(first, packed(event(1, output=artifact_ref(told)))) == ["written"] * 2


def test_plain_json_is_taken_redacted_and_large_values_are_put_apart(buffer: Any) -> None:
    request = {"messages": [{"role": "user", "content": "mail kim@example.org"}]}
    start = {
        **PLAIN,
        "kind": "model_call.started",
        "at": "2026-01-31T12:00:00Z",
        "writer": "go",
        "sequence": 0,
        "parentId": "p",
        "losses": {"queue_full": 2},
        "body": {"provider": "openai", "model": "m", "request": request, "params": {"password": "hunter22"}},
    }
    end = PLAIN | {
        "eventId": "e-2",
        "kind": "model_call.finished",
        "writer": "go",
        "sequence": 1,
        "body": {"call": "e-1", "status": "ok", "output": {"$bytes": base64.b64encode(b"\xff\x00").decode()}},
    }
    assert statuses(start, end, PLAIN | {"eventId": "e-3"}) == ["written"] * 3
    first, second, third = read_run(KEY).events
    assert (first.writer, first.sequence, first.parent_id, first.losses) == ("go", 0, "p", {"queue_full": 2})
    assert first.fields["params"]["password"] != "hunter22"
    assert sum(first.redactions.values()) >= 2
    asked, answered = first.fields["request"]["$artifact"], second.fields["output"]["$artifact"]
    found = read_artifacts([asked, answered])
    assert b"kim@example.org" not in found[asked]
    assert b"messages" in found[asked]
    assert found[answered] == b"\xff\x00"
    assert (third.fields, third.kind) == ({}, "event")


def test_a_bound_key_writes_its_own_agents_events_alone(buffer: Any) -> None:
    (refused,) = send(packed(event(0)), key=BOUND)
    assert refused["reason"] == "not_yours"
    assert statuses(PLAIN, key=BOUND) == ["refused"]
    assert statuses(PLAIN | {"agentId": "somebody"}, key=BOUND) == ["written"]
    assert buffer.keys("run:claims*") == []


def forged(**changes: object) -> dict[str, object]:
    """An event that no SDK wrote."""
    fields = fields_of(unframe(encode_event(event(0))))
    return {"event": base64.b64encode(frame(repack(fields | changes))).decode()}


def deep(floors: int) -> bytes:
    return b"\x81\xa1a" + b"\x91" * floors + b"\x01"


@pytest.mark.parametrize(
    "item",
    [
        7,
        {},
        {"event": "%"},
        {"event": base64.b64encode(b"\x01junk").decode()},
        forged(agentId=""),
        forged(runId="nul \x00"),
        forged(eventId="x" * 201),
        forged(kind=""),
        forged(writer="x" * 201),
        forged(sequence=-1),
        forged(sequence=2**63),
        forged(at="2026-01-31T12:00:00"),
        forged(at="0001-01-01T00:00:00+14:00"),
        forged(body=10**12),
        forged(body=b"\xc1"),
        forged(body=b"\x01"),
        forged(body=deep(400)),
        forged(parentId=7),
        forged(losses={"x": "many"}),
        forged(losses=[1]),
        forged(redactions={"x": -1}),
        forged(policy=7),
        PLAIN | {"body": []},
        PLAIN | {"body": {"output": {"$bytes": "%"}}},
        PLAIN | {"writer": "w"},
        PLAIN | {"sequence": 1},
        PLAIN | {"writer": "w", "sequence": "one"},
        PLAIN | {"at": "yesterday"},
        PLAIN | {"eventId": "\ud83d"},
        PLAIN | {"losses": {"x": -1}},
        PLAIN | {"losses": {"\ud83d": 1}},
        PLAIN | {"losses": [1]},
        PLAIN | {"unknown": 1},
        packed(event(0, data="x" * 1_100_000)),
        packed(event(0)) | {"artifacts": 7},
        packed(event(0)) | {"artifacts": [7]},
        packed(event(0)) | {"artifacts": [{"sha256": "0" * 64, "data": "AAAA"}]},
        packed(event(0)) | {"artifacts": [{"sha256": 7, "data": ""}]},
    ],
)
def test_what_is_no_event_is_refused_alone_and_says_why(buffer: Any, item: object) -> None:
    refused, taken = send(item, packed(event(9)))
    assert (refused["status"], taken["status"]) == ("refused", "written")
    assert refused["message"]
    assert [each.event_id for each in read_run(KEY).events] == ["w-9"]


def test_a_body_of_many_values_is_refused_before_it_is_unfolded(buffer: Any) -> None:
    bomb = b"\x81\xa1a\xdd" + (3_000_000).to_bytes(4, "big") + b"\xc0" * 3_000_000
    assert statuses(forged(body=bomb)) == ["refused"]


@pytest.mark.parametrize("name", ["a:b", "%", "run\x1f", "ключ 🂡", "x" * 200])
def test_no_id_reaches_into_anothers_keys(buffer: Any, name: str) -> None:
    key = RunKey(name, name)
    assert statuses(packed(event(0, key=key, event_id=name))) == ["written"]
    assert [each.event_id for each in read_run(key).events] == [name]
    assert len(buffer.keys("run:*")) == 1
