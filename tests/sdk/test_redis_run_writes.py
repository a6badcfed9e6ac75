"""Runs in the buffer: keys, order of arrival, first stays, and the TTL rule, on both kinds of server."""

from typing import Any

import pytest

from capture_sdk.keys import artifact_key
from capture_sdk.runs.records import Artifact, EventKind, RunEvent, RunKey, artifact_ref, decode_event
from capture_sdk.transports import Refusal
from capture_sdk.transports.redis import RedisTransport
from tests.runs import AGENT, KEY, a_run, artifact, event, parcel

RUN_KEY = "run:claims-agent:run-1"


def write(
    redis: Any, events: list[RunEvent], artifacts: list[Artifact], *, ttl: int = 100, **how: Any
) -> Any:
    transport = RedisTransport(redis, ttl_seconds=ttl)
    return transport.write_events([parcel(each, artifacts, **how) for each in events])


def arrivals(redis: Any) -> dict[str, int]:
    """Event ids with their places of arrival, from 0."""
    held = {
        name.decode(): int.from_bytes(value[:8], "big")
        for name, value in redis.hgetall(RUN_KEY).items()
        if not name.startswith(b"\0")
    }
    first = min(held.values())
    return {name: place - first for name, place in held.items()}


def test_a_run_is_written_as_agreed(redis: Any) -> None:
    events, artifacts = a_run()
    assert write(redis, events, artifacts) == []
    assert set(redis.keys()) == {
        RUN_KEY.encode(),
        b"runs:claims-agent",
        b"run-agents",
        *(artifact_key(each.sha256).encode() for each in artifacts),
    }
    assert arrivals(redis) == {each.event_id: place for place, each in enumerate(events)}
    held = redis.hgetall(RUN_KEY)
    assert decode_event(held[b"w-3"][8:]) == events[3]
    assert decode_event(held[b"\0first:run.started"][8:]) == events[0]
    assert decode_event(held[b"\0last:run.finished"][8:]) == events[-1]
    assert held[b"\0count:tool.proposed"] == b"1"
    assert redis.zrange("runs:claims-agent", 0, -1) == [b"run-1"]
    assert redis.zrange("run-agents", 0, -1) == [AGENT.encode()]
    assert int(held[b"\0began"]) <= int(held[b"\0at"]) == pytest.approx(redis.time()[0] * 1000, abs=5_000)


def test_writing_twice_is_the_same_as_once_and_the_first_stays(redis: Any) -> None:
    events, artifacts = a_run()
    write(redis, events, artifacts)
    before = redis.hgetall(RUN_KEY)
    write(redis, events, artifacts)
    write(redis, [event(3, event_id="w-3", name="another")], [])
    assert redis.hgetall(RUN_KEY) == before


def test_two_writers_arrive_in_one_order(redis: Any) -> None:
    write(redis, [event(0), event(1)], [])
    write(redis, [event(0, writer="v"), event(1)], [])
    write(redis, [event(2), event(1, writer="v")], [])
    assert arrivals(redis) == {"w-0": 0, "w-1": 1, "v-0": 2, "w-2": 3, "v-1": 4}


def test_a_run_that_begins_again_counts_upwards(redis: Any) -> None:
    write(redis, [event(0)], [])
    first = int.from_bytes(redis.hget(RUN_KEY, "w-0")[:8], "big")
    assert first == pytest.approx(redis.time()[0] * 1_024_000, abs=5 * 1_024_000)
    assert first < 2**53


def test_the_latest_end_and_the_latest_resumption_stand_in_the_head(redis: Any) -> None:
    resumed, finished = EventKind.RUN_RESUMED, EventKind.RUN_FINISHED
    events = [
        event(0, EventKind.RUN_STARTED, name="first"),
        event(1, finished, status="error"),
        event(2, resumed),
        event(3, resumed, isPart=True),
        event(4, finished, status="ok"),
        event(5, EventKind.RUN_STARTED, name="second"),
    ]
    write(redis, events, [])
    held = redis.hgetall(RUN_KEY)
    names = (b"\0first:run.started", b"\0last:run.finished", b"\0last:run.resumed")
    assert [decode_event(held[name][8:]) for name in names] == [events[0], events[4], events[2]]


def ttls(redis: Any, *keys: str) -> list[int]:
    with redis.pipeline(transaction=True) as at_one_moment:
        for key in keys:
            at_one_moment.pttl(key)
        return list(at_one_moment.execute())


def test_no_artifact_is_outlived_by_its_run(redis: Any) -> None:
    events, artifacts = a_run()
    write(redis, events, artifacts)
    keys = [artifact_key(each.sha256) for each in artifacts]
    run, *needed = ttls(redis, RUN_KEY, *keys)
    assert all(0 < run <= each <= 100_000 for each in needed)
    for key in (RUN_KEY, *keys):
        redis.pexpire(key, 50_000)
    write(redis, [event(7)], [])  # it needs neither of them, and makes the run live on
    run, *needed = ttls(redis, RUN_KEY, *keys)
    assert all(99_000 < run <= each <= 100_000 for each in needed)


def test_a_run_without_artifacts_is_renewed_by_each_event(redis: Any) -> None:
    write(redis, [event(0)], [])
    redis.pexpire(RUN_KEY, 99_000)
    write(redis, [event(1)], [])
    assert redis.pttl(RUN_KEY) > 99_500


def test_a_shorter_ttl_in_one_process_never_shortens_a_run(redis: Any) -> None:
    events, artifacts = a_run()
    write(redis, events, artifacts, ttl=1_000)
    write(redis, [event(7)], [], ttl=10)
    assert all(each > 900_000 for each in ttls(redis, RUN_KEY, artifact_key(artifacts[0].sha256)))
    assert redis.pttl("runs:claims-agent") > 6 * 86_400_000


def test_runs_that_are_long_over_leave_the_lists(redis: Any) -> None:
    redis.zadd("runs:claims-agent", {"ancient": 1.0})
    write(redis, [event(0)], [])
    assert redis.zrange("runs:claims-agent", 0, -1) == [b"run-1"]


def test_an_artifact_that_has_gone_is_asked_for_and_costs_its_event_alone(redis: Any) -> None:
    told = artifact("told")
    parcels = [event(0, request=artifact_ref(told)), event(1)]
    assert write(redis, parcels, [told], known=True) == [Refusal(0, "blob_needed", retryable=True)]
    assert arrivals(redis) == {"w-1": 0}
    assert write(redis, parcels, [told]) == []
    assert write(redis, [event(2, request=artifact_ref(told))], [], known=True) == []


def test_artifacts_are_shared_between_runs(redis: Any) -> None:
    other = RunKey("other:agent", "run%1")
    for key in (KEY, other):
        events, artifacts = a_run(key)
        write(redis, events, artifacts)
    assert len(redis.keys("art:*")) == 2
    assert redis.exists("run:other%3Aagent:run%251")
    assert set(redis.zrange("run-agents", 0, -1)) == {b"claims-agent", b"other:agent"}


def test_what_one_run_cannot_take_costs_no_other(redis: Any) -> None:
    redis.set(RUN_KEY, "no hash")
    other = RunKey(AGENT, "run-2")
    refused = write(redis, [event(0), event(0, key=other)], [])
    assert [(each.index, each.retryable) for each in refused] == [(0, True)]
    assert redis.exists("run:claims-agent:run-2")
