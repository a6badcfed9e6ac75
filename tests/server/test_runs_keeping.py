"""Keeping a run: honest outcomes, once however often, with everything that it needs."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from capture.hands import StoresUnavailable
from capture.models import AgentAccess, AgentRun, AgentRunArtifact
from capture.pins.pin import PinDamaged, PinStatus
from capture.runs.keeping import KeptRun, keep_run
from capture.runs.reading import read_artifacts, read_run
from capture.runs.run import RunState
from capture_sdk.keys import artifact_key
from capture_sdk.runs.records import EventKind, RunKey, artifact_ref
from tests.runs import AGENT, KEY, a_run, artifact, buffered, event

pytestmark = pytest.mark.django_db
RUN_KEY = "run:claims-agent:run-1"


def kept(key: RunKey = KEY) -> tuple[str, int, int, int]:
    outcome = keep_run(key, by="user:kim")
    return outcome.status, outcome.inserted, outcome.total, outcome.missing


def test_a_kept_run_stays_when_the_buffer_is_empty(both_buffers: Any) -> None:
    events, artifacts = a_run()
    buffered(events, artifacts)
    assert kept() == ("pinned", 7, 7, 0)
    assert kept() == ("already_pinned", 0, 7, 0)
    both_buffers.flushall()
    assert kept() == ("already_pinned", 0, 7, 0)
    run = read_run(KEY)
    assert (list(run.events), run.head.state) == (events, RunState.KEPT)
    assert read_artifacts(each.sha256 for each in artifacts) == {each.sha256: each.data for each in artifacts}
    row = AgentRun.objects.get()
    assert (row.kept_by, row.why, row.name, row.status) == ("user:kim", "asked", "settle", "ok")
    assert "tool.started" in row.kinds
    lines = AgentAccess.objects.values_list("actor", "action", "run_id", "agents", "detail", "hand_number")
    assert lines[0] == ("user:kim", "keep_run", "run-1", [AGENT], "pinned", None)


def test_nothing_is_no_success(buffer: Any) -> None:
    assert kept() == ("nothing_to_capture", 0, 0, 0)
    buffer.hset(RUN_KEY, "e", b"12345678junk")
    assert kept() == ("nothing_to_capture", 0, 0, 1)
    assert not AgentRun.objects.exists()


def test_a_later_keeping_completes_an_earlier_one(buffer: Any) -> None:
    events, artifacts = a_run()
    buffered(events[:3], artifacts)
    assert kept() == ("pinned", 3, 3, 0)
    buffered(events[3:], artifacts)
    assert kept() == ("pinned", 4, 7, 0)
    buffer.flushall()
    assert list(read_run(KEY).events) == events


def test_what_is_known_to_be_missing_is_counted(buffer: Any) -> None:
    events, artifacts = a_run()
    buffered([*events[:3], *events[5:]], artifacts)
    buffer.delete(artifact_key(artifacts[0].sha256))
    buffer.hset(RUN_KEY, "damaged", b"12345678junk")
    assert kept() == ("pinned", 5, 5, 1 + 1 + 2)
    buffer.hdel(RUN_KEY, "damaged")
    buffered(events, artifacts)
    assert kept() == ("pinned", 2, 7, 0)


def test_what_was_damaged_at_rest_is_replaced_from_the_buffer(buffer: Any) -> None:
    events, artifacts = a_run()
    buffered(events, artifacts)
    keep_run(KEY, by="test")
    AgentRunArtifact.objects.filter(sha256=artifacts[0].sha256).update(data=b"\x01junk")
    AgentRun.objects.get().events.filter(event_id="w-3").update(data=b"junk")
    keep_run(KEY, by="test")
    buffer.flushall()
    assert list(read_run(KEY).events) == events
    assert len(read_artifacts(each.sha256 for each in artifacts)) == 2


def test_runs_share_their_artifacts(buffer: Any) -> None:
    for name in ("a", "b"):
        events, artifacts = a_run(RunKey(AGENT, name))
        buffered(events, artifacts)
        keep_run(RunKey(AGENT, name), by="test")
    assert AgentRunArtifact.objects.count() == 2
    assert AgentRunArtifact.objects.filter(runs__run_id="b").count() == 2


def test_hostile_texts_are_kept_as_they_were_recorded(buffer: Any) -> None:
    name = "nul \x00 and half \ud83d" + "x" * 300
    told = {"$artifact": "no hash \x00", "bytes": -1}
    events = [
        event(0, EventKind.RUN_STARTED, name=name, hand={"tableId": 7}),
        event(1, "kind \x00\ud83d", told=told),
    ]
    buffered(events)
    assert kept() == ("pinned", 2, 2, 0)
    buffer.flushall()
    run = read_run(KEY)
    assert list(run.events) == events
    assert (run.head.name, run.head.hand) == (name, None)


@pytest.mark.usefixtures("dead_buffer")
def test_a_buffer_that_is_down_is_no_outcome() -> None:
    with pytest.raises(StoresUnavailable):
        keep_run(KEY, by="test")


@pytest.mark.django_db(transaction=True)
def test_two_at_once_insert_everything_once(buffer: Any) -> None:
    both, artifacts = [], [artifact(f"shared {number}") for number in range(30)]
    for name in ("a", "b"):
        key = RunKey(AGENT, name)
        both.append(key)
        refs = [artifact_ref(each) for each in (artifacts if name == "a" else artifacts[::-1])]
        buffered([event(0, key=key, refs=refs), event(1, key=key)], artifacts)

    def keep(key: RunKey) -> KeptRun:
        try:
            return keep_run(key, by="test")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(keep, both * 4))
    assert sorted(each.status for each in outcomes) == [PinStatus.ALREADY_PINNED] * 6 + [PinStatus.PINNED] * 2
    assert {each.total for each in outcomes} == {2}
    assert AgentRunArtifact.objects.count() == 30
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM agent_run_events")
        assert cursor.fetchone() == (4,)


@pytest.mark.parametrize(
    ("error", "told"), [(OperationalError("gone"), StoresUnavailable), (PinDamaged("odd"), PinDamaged)]
)
def test_a_keeping_that_fails_half_way_keeps_nothing(
    buffer: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, told: type[Exception]
) -> None:
    def fail(*_: object) -> None:
        raise error

    events, artifacts = a_run()
    buffered(events, artifacts)
    monkeypatch.setattr("capture.runs.writing._write_events", fail)
    with pytest.raises(told):
        keep_run(KEY, by="test")
    assert not AgentRun.objects.exists()
    assert not AgentRunArtifact.objects.exists()


def test_what_reads_back_different_is_not_kept(buffer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    events, artifacts = a_run()
    buffered(events, artifacts)
    monkeypatch.setattr(
        "capture.runs.writing.kept_artifacts", lambda hashes: dict.fromkeys(hashes, b"\x01junk")
    )
    with pytest.raises(PinDamaged):
        keep_run(KEY, by="test")
    assert not AgentRun.objects.exists()
