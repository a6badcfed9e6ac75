"""A run as it is read back: order, gaps, status, both stores, and what is said where it is not there."""

from typing import Any

import pytest
from django.db import OperationalError

from capture.hands import StoresUnavailable
from capture.runs import cold
from capture.runs.keeping import keep_run
from capture.runs.reading import (
    ArtifactUnreferenced,
    RunAbsence,
    RunMissing,
    list_runs,
    read_artifact,
    read_artifacts,
    read_run,
)
from capture.runs.run import Gap, RunState, RunStatus
from capture.runs.writing import store_run
from capture_sdk.keys import artifact_key
from capture_sdk.runs.records import EventKind, RunEvent, RunKey, artifact_ref, encode_event
from tests.runs import AGENT, KEY, a_run, artifact, buffered, event

pytestmark = pytest.mark.django_db
RUN_KEY = "run:claims-agent:run-1"


def ids(events: tuple[RunEvent, ...]) -> list[str]:
    return [each.event_id for each in events]


@pytest.fixture
def no_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object) -> None:
        raise OperationalError("down")

    for name in ("kept_run", "kept_event", "kept_artifacts", "kept_heads"):
        for module in ("reading", "artifacts", "walking"):
            monkeypatch.setattr(f"capture.runs.{module}.{name}", down, raising=False)


def test_a_run_comes_back_whole(both_buffers: Any) -> None:
    events, artifacts = a_run(project="p", service="s", hand={"tableId": "t", "handNumber": 7})
    buffered(events, artifacts)
    run = read_run(KEY)
    assert list(run.events) == events
    assert (run.head.name, run.head.project, run.head.service, run.head.hand) == (
        "settle",
        "p",
        "s",
        ("t", 7),
    )
    assert (run.head.status, run.head.state) == (RunStatus.OK, RunState.LIVE)
    assert run.head.counts["tool.started"] == 1
    assert (run.kept, run.gaps, run.damaged, run.losses) == (0, (), (), {})
    assert run.head.began_at is not None
    assert run.head.expires_at is not None
    assert run.head.began_at <= (run.head.last_at or run.head.began_at) < run.head.expires_at
    found = read_artifacts(each.sha256 for each in artifacts)
    assert found == {each.sha256: each.data for each in artifacts}


def test_each_writer_is_in_its_own_order_among_its_places(buffer: Any) -> None:
    buffered([event(1), event(0, writer="v"), event(0), event(2, writer="v"), event(2), event(1, writer="v")])
    assert ids(read_run(KEY).events) == ["w-0", "v-0", "w-1", "v-1", "w-2", "v-2"]


def test_what_did_not_arrive_is_told_and_lost_only_where_losses_cover_it(buffer: Any) -> None:
    lost = {"queue_full": 2}
    buffered([event(1), event(4, losses=lost), event(6, losses=lost), event(0, writer="v")])
    run = read_run(KEY)
    assert run.gaps == (Gap("w", 0, 0, lost=False), Gap("w", 2, 3, lost=True), Gap("w", 5, 5, lost=False))
    assert run.losses == lost


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        ([("run.started", {})], "unfinished"),
        ([("run.finished", {"status": "error"})], "error"),
        ([("run.finished", {"status": "error"}), ("run.finished", {"status": "ok"})], "ok"),
        ([("run.finished", {"status": "ok"}), ("run.resumed", {})], "unfinished"),
        ([("run.finished", {"status": "ok"}), ("run.resumed", {"isPart": True})], "ok"),
        ([("run.resumed", {}), ("run.finished", {"status": "cancelled"})], "cancelled"),
        ([("run.finished", {"status": "splendid"})], "unfinished"),
    ],
)
def test_a_run_is_what_its_last_end_says_and_never_ok_without(
    buffer: Any, kinds: list[tuple[str, dict[str, Any]]], status: str
) -> None:
    buffered([event(place, kind, **fields) for place, (kind, fields) in enumerate(kinds)])
    assert read_run(KEY).head.status == status
    keep_run(KEY, by="test")
    buffer.flushall()
    assert read_run(KEY).head.status == status


def test_the_first_start_names_the_run(buffer: Any) -> None:
    buffered([event(0, EventKind.RUN_STARTED, name="first"), event(1, EventKind.RUN_STARTED, name="second")])
    assert read_run(KEY).head.name == "first"


def test_a_damaged_event_is_listed_and_hides_no_other(buffer: Any) -> None:
    buffered([event(0), event(1), event(2)])
    place = buffer.hget(RUN_KEY, "w-1")[:8]
    buffer.hset(RUN_KEY, "w-1", place + b"\x01junk")
    buffer.hset(RUN_KEY, "stranger", place + encode_event(event(7)))
    run = read_run(KEY)
    assert ids(run.events) == ["w-0", "w-2"]
    assert set(run.damaged) == {"w-1", "stranger"}


def test_kept_and_buffered_events_are_one_run(buffer: Any) -> None:
    events, artifacts = a_run()
    buffered(events[:4], artifacts)
    keep_run(KEY, by="test")
    buffered(events[4:], artifacts)
    run = read_run(KEY)
    assert (list(run.events), run.kept, run.head.state) == (events, 4, RunState.PARTLY_KEPT)
    buffer.hset(RUN_KEY, "w-1", b"\0" * 8 + b"damaged")
    assert list(read_run(KEY).events) == events


def test_a_run_that_goes_on_after_its_time_stays_in_order(buffer: Any) -> None:
    events, artifacts = a_run(status=None)
    buffered(events, artifacts)
    keep_run(KEY, by="test")
    buffer.flushall()
    more = [
        event(0, EventKind.RUN_RESUMED, writer="late"),
        event(1, EventKind.RUN_FINISHED, writer="late", status="ok"),
    ]
    assert read_run(KEY).head.state is RunState.KEPT
    buffered(more)
    buffer.hset(RUN_KEY, "late-0", b"")  # damaged
    run = read_run(KEY)
    assert list(run.events) == [*events, more[1]]
    assert (run.head.status, run.head.name) == ("ok", "settle")


def test_a_run_that_went_on_after_it_was_kept_is_not_shown_as_whole(buffer: Any) -> None:
    events, artifacts = a_run()
    buffered(events, artifacts)
    keep_run(KEY, by="test")
    assert read_run(KEY).went_on_at is None
    later = buffer.time()[0] * 1_000 + 120_000
    buffer.zadd(f"runs:{AGENT}", {KEY.run_id: later})
    assert read_run(KEY).went_on_at is None  # the buffer has it
    buffer.delete(RUN_KEY)
    went_on = read_run(KEY).went_on_at
    assert went_on is not None
    assert went_on.timestamp() * 1_000 == later


def missing(key: RunKey = KEY) -> RunAbsence:
    with pytest.raises(RunMissing) as found:
        read_run(key)
    return found.value.why


def test_what_is_not_there_is_told_apart(buffer: Any, settings: Any) -> None:
    assert missing() is RunAbsence.NEVER_SEEN
    buffered([event(0)])
    buffer.delete(RUN_KEY)
    assert missing() is RunAbsence.GONE
    buffer.zadd(f"runs:{AGENT}", {KEY.run_id: 1.0})
    assert missing() is RunAbsence.EXPIRED


@pytest.mark.usefixtures("no_postgres")
def test_without_postgres_the_buffer_is_read_and_absence_is_unknown(buffer: Any) -> None:
    assert missing() is RunAbsence.UNKNOWN
    events, artifacts = a_run()
    buffered(events, artifacts)
    run = read_run(KEY)
    assert (list(run.events), run.buffer_ok, run.durable_ok) == (events, True, False)
    assert read_artifact(KEY, "w-2", artifacts[1].sha256) == artifacts[1].data
    with pytest.raises(StoresUnavailable):
        read_artifact(KEY, "w-9", artifacts[1].sha256)


@pytest.mark.usefixtures("dead_buffer")
def test_without_the_buffer_what_is_kept_is_read() -> None:
    assert missing() is RunAbsence.UNKNOWN
    events, artifacts = a_run()
    store_run(events, artifacts, by="test")
    run = read_run(KEY)
    assert (list(run.events), run.buffer_ok, run.durable_ok) == (events, False, True)
    assert run.head.state is RunState.UNKNOWN


@pytest.mark.usefixtures("dead_buffer", "no_postgres")
def test_without_both_nothing_is_said() -> None:
    with pytest.raises(StoresUnavailable):
        read_run(KEY)
    with pytest.raises(StoresUnavailable):
        read_artifacts([artifact("x").sha256])


def test_an_artifact_is_opened_by_the_event_that_refers_to_it_alone(buffer: Any) -> None:
    events, artifacts = a_run()
    buffered(events, artifacts)
    theirs = artifact("theirs")
    buffered([event(0, key=RunKey("rival", "r"), output=artifact_ref(theirs))], [theirs])
    request, answer = artifacts
    assert read_artifact(KEY, "w-1", request.sha256) == request.data
    for event_id, sha256 in (
        ("w-1", answer.sha256),
        ("w-1", theirs.sha256),
        ("nobody", request.sha256),
        ("w-1", "\0"),
    ):
        with pytest.raises(ArtifactUnreferenced):
            read_artifact(KEY, event_id, sha256)
    keep_run(KEY, by="test")
    buffer.flushall()
    assert read_artifact(KEY, "w-1", request.sha256) == request.data
    with pytest.raises(ArtifactUnreferenced):
        read_artifact(KEY, "w-1", theirs.sha256)


def test_an_artifact_that_is_damaged_or_gone_is_not_there(buffer: Any) -> None:
    events, artifacts = a_run()
    buffered(events, artifacts)
    buffer.set(artifact_key(artifacts[0].sha256), b"\x01junk")
    buffer.delete(artifact_key(artifacts[1].sha256))
    assert read_artifacts(each.sha256 for each in artifacts) == {}
    assert read_artifact(KEY, "w-1", artifacts[0].sha256) is None


def test_a_read_asks_for_the_agents_own_keys_alone(buffer: Any) -> None:
    for agent in (AGENT, "claims", "claims-agent:run-1", "claims-agent%3Arun-1"):
        events, artifacts = a_run(RunKey(agent, "run-1"))
        buffered(events, artifacts)
    with buffer.monitor() as monitor:
        read_run(KEY)
        list_runs(agent_id=AGENT, limit=10)
        keep_run(KEY, by="test")
        buffer.echo("the end")
        asked = set[str]()
        for command in monitor.listen():
            if "the end" in command["command"]:
                break
            asked |= {word for word in command["command"].split() if ":" in word}
    artifacts_of = {artifact_key(each.sha256) for each in artifacts}
    assert {word for word in asked if "\\x00" not in word} == {RUN_KEY, f"runs:{AGENT}", *artifacts_of}


def test_what_is_stored_directly_is_there_once(buffer: Any) -> None:
    events, artifacts = a_run()
    stored = store_run(events, artifacts, by="command:x")[KEY]
    assert (stored.inserted, stored.total, stored.missing) == (7, 7, ())
    again = store_run([*events, event(9)], artifacts, by="command:x")[KEY]
    assert (again.inserted, again.total) == (1, 8)
    assert 100 < again.bytes < 300
    run = read_run(KEY)
    assert list(run.events) == [*events, event(9)]
    assert (run.head.state, run.kept) == (RunState.KEPT, 8)
    assert read_artifacts([artifacts[0].sha256]) == {artifacts[0].sha256: artifacts[0].data}
    assert cold.kept_heads([KEY])[KEY].why == "imported"
