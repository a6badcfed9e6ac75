"""Runs as a list: both stores merged, newest first, each run once, narrowed to what is asked for."""

import datetime
from dataclasses import replace
from typing import Any

import pytest

from capture.models import AgentRun
from capture.runs.keeping import keep_run
from capture.runs.listing import RunPage, list_runs
from capture.runs.reading import read_run
from capture.runs.run import RunState, RunStatus
from capture.runs.wanted import RunFilter
from capture.runs.writing import store_run
from capture_sdk.keys import runs_key
from capture_sdk.runs.records import EventKind, RunKey
from tests.runs import AGENT, a_run, buffered, event

pytestmark = pytest.mark.django_db


def names(page: RunPage) -> list[str]:
    return [head.key.run_id for head in page.runs]


def every(limit: int, *, agent_id: str | None = AGENT, **narrowed: Any) -> list[str]:
    """All pages, one after the other."""
    found, cursor = [], None
    while True:
        page = list_runs(RunFilter(**narrowed), agent_id=agent_id, limit=limit, cursor=cursor)
        assert len(page.runs) <= limit
        found += names(page)
        cursor = page.next_cursor
        if cursor is None:
            return found


def put(buffer: Any, run_id: str, ms: int, *, agent_id: str = AGENT, **start: Any) -> RunKey:
    """A run of the buffer that was active last at this millisecond."""
    key = RunKey(agent_id, run_id)
    events, artifacts = a_run(key, **start)
    buffered(events, artifacts)
    buffer.zadd(runs_key(agent_id), {run_id: ms})
    return key


def now_ms(buffer: Any) -> int:
    return int(buffer.time()[0]) * 1_000


@pytest.mark.parametrize("limit", [1, 3, 200])
def test_each_run_stands_once_newest_first(both_buffers: Any, limit: int) -> None:
    now = now_ms(both_buffers)
    for place in range(8):
        key = put(both_buffers, f"run-{place}", now - 1_000 * (8 - place))
        if place % 2:
            keep_run(key, by="test")  # 1 3 5 7
    both_buffers.delete("run:claims-agent:run-1", "run:claims-agent:run-2")  # 1 is kept, 2 has gone
    AgentRun.objects.filter(run_id="run-1").update(last_at=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    assert every(limit) == [f"run-{place}" for place in (7, 6, 5, 4, 3, 2, 0, 1)]
    heads = {head.key.run_id: head for head in list_runs(agent_id=AGENT, limit=200).runs}
    states = {name: head.state for name, head in heads.items()}
    assert (states["run-0"], states["run-1"], states["run-2"]) == (
        RunState.LIVE,
        RunState.KEPT,
        RunState.GONE,
    )
    assert (heads["run-7"].state, heads["run-7"].name, heads["run-7"].status) == (
        RunState.KEPT,
        "settle",
        "ok",
    )
    assert (heads["run-2"].name, heads["run-2"].status) == (None, RunStatus.UNKNOWN)
    assert heads["run-0"].counts["run.started"] == 1


def test_runs_of_one_millisecond_are_not_lost_between_pages(buffer: Any) -> None:
    now = now_ms(buffer)
    expected = sorted((f"run-{place:03}" for place in range(60)), reverse=True)
    buffered([event(0, key=RunKey(AGENT, name)) for name in expected])
    buffer.zadd(f"runs:{AGENT}", dict.fromkeys(expected, now))
    stored = sorted((f"kept-{place}" for place in range(5)), reverse=True)
    store_run([event(0, key=RunKey(AGENT, name)) for name in stored], [], by="test")
    at = datetime.datetime.fromtimestamp(now / 1_000, datetime.UTC)
    AgentRun.objects.update(last_at=at)
    assert every(7) == [*expected, *stored]


def test_all_agents_are_one_list_and_one_agent_is_its_own(buffer: Any) -> None:
    now = now_ms(buffer)
    put(buffer, "old", now - 3_000)
    put(buffer, "theirs", now - 2_000, agent_id="rival:a")
    put(buffer, "new", now - 1_000)
    assert every(2, agent_id=None) == ["new", "theirs", "old"]
    assert every(2, agent_id="rival:a") == ["theirs"]
    assert every(2, agent_id="nobody") == []


def test_runs_are_narrowed_wherever_they_are(buffer: Any) -> None:
    now = now_ms(buffer)
    hand = {"tableId": "t", "handNumber": 7}
    put(buffer, "a", now - 3_000, name="settle small", project="p", status="error")
    keep_run(put(buffer, "b", now - 2_000, name="settle large", service="s", hand=hand), by="test")
    put(buffer, "c", now - 1_000, name="pay", status=None)
    key = RunKey(AGENT, "d")
    buffered([event(0, EventKind.TOOL_DENIED, key=key), event(1, "my.own", key=key)])
    for kept in (False, True):
        if kept:
            buffer.delete(f"run:{AGENT}:b")
        assert every(2, name="settle large") == ["b"]
        assert every(2, name_begins="settle") == ["b", "a"]
        assert every(2, project="p") == ["a"]
        assert every(2, service="s") == ["b"]
        assert every(2, status=RunStatus.OK) == ["b"]
        assert every(2, status=RunStatus.ERROR) == ["a"]
        assert every(2, status=RunStatus.UNFINISHED) == ["d", "c"]
        assert every(2, kind="tool.denied") == ["d"]
        assert every(2, kind="my.own") == ["d"]
        assert every(2, hand=("t", 7)) == ["b"]
        assert every(2, state=RunState.KEPT) == ["b"]
        assert every(2, state=RunState.LIVE) == ["d", "c", "a"]
    keep_run(key, by="test")
    buffer.delete(f"run:{AGENT}:d")
    assert every(2, kind="my.own") == ["d"]
    since = datetime.datetime.fromtimestamp((now - 3_000) / 1_000, datetime.UTC)
    until = since + datetime.timedelta(seconds=2)
    assert every(2, since=since, until=until) == ["a"]


def test_a_page_costs_few_queries(buffer: Any, django_assert_max_num_queries: Any) -> None:
    for place in range(30):
        keep_run(put(buffer, f"run-{place}", now_ms(buffer) - place), by="test")
    with django_assert_max_num_queries(3):
        assert len(list_runs(agent_id=None, limit=10).runs) == 10


@pytest.mark.usefixtures("dead_buffer")
def test_without_the_buffer_what_is_kept_is_listed() -> None:
    events, artifacts = a_run()
    store_run(events, artifacts, by="test")
    page = list_runs(agent_id=None, limit=10)
    assert (names(page), page.buffer_ok, page.durable_ok) == (["run-1"], False, True)
    assert page.runs[0].state is RunState.UNKNOWN


@pytest.mark.parametrize("cursor", ["", "x", "1:a", "1:a:b:c", "123456789012345:a:b", "١:a:b"])
def test_what_is_no_cursor_is_refused(buffer: Any, cursor: str) -> None:
    with pytest.raises(ValueError, match="cursor"):
        list_runs(agent_id=None, limit=1, cursor=cursor)


def test_how_long_a_run_lasted_is_told_by_its_own_clock(buffer: Any) -> None:
    """Not by when its events arrived: those of a quick run, and of an imported one, arrive together."""
    events, artifacts = a_run()
    seconds = events[-1].sequence
    buffered(events, artifacts)
    put(buffer, "goes-on", now_ms(buffer), status=None)
    two = [event(0, EventKind.RUN_STARTED), event(5, EventKind.RUN_FINISHED, writer="other", status="ok")]
    store_run([replace(each, run=RunKey(AGENT, "two-clocks")) for each in two], [], by="test")
    store_run([replace(each, run=RunKey(AGENT, "stored")) for each in events], artifacts, by="test")
    expected = {"run-1": seconds * 1_000, "goes-on": None, "two-clocks": None, "stored": seconds * 1_000}
    heads = list_runs(agent_id=AGENT, limit=200).runs
    assert {head.key.run_id: head.lasted_ms for head in heads} == expected
    assert {name: read_run(RunKey(AGENT, name)).head.lasted_ms for name in expected} == expected
    keep_run(heads[0].key, by="test")
    buffered([event(90, EventKind.RUN_RESUMED)])
    assert read_run(RunKey(AGENT, "run-1")).head.lasted_ms is None
