"""A run's head: what a list shows of it, from the buffer's head, from Postgres's row, or from both."""

import datetime
from collections.abc import Mapping
from typing import Any

from capture.absence import Clock
from capture.models import AgentRun
from capture.runs.hot import BufferedHead
from capture.runs.order import lasted_ms, status_of
from capture.runs.run import RunHead, RunState, RunStatus
from capture_sdk.errors import IdError
from capture_sdk.freeze import unpack
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.runs.records import RunEvent, RunKey

OTHER_KIND = "other"  # what a list calls the kinds that are not ours, all together


def head_of(
    key: RunKey, hot: BufferedHead | None, row: AgentRun | None, state: RunState, *, now: datetime.datetime
) -> RunHead:
    """The head of a run of which at least one store has something."""
    started = hot.started.event if hot is not None and hot.started is not None else None
    began = [time_of(hot.began_ms)] if hot is not None else []
    last = [time_of(hot.at_ms)] if hot is not None else []
    status = _status(hot, row)
    return RunHead(
        key=key,
        status=status,
        lasted_ms=None if status is RunStatus.UNFINISHED else _lasted_ms(hot, row),
        state=state,
        began_at=min([*began, *([row.began_at] if row is not None else [])], default=None),
        last_at=max([*last, *([row.last_at] if row is not None else [])], default=None),
        counts=_counts(hot, row),
        expires_at=None if hot is None else now + datetime.timedelta(milliseconds=hot.ttl_ms),
        **(named_by(started) if row is None else _named(row)),
    )


def named_by(started: RunEvent | None) -> dict[str, Any]:
    """What the first start of a run says: its names, and the hand that it belongs to."""
    fields = {} if started is None else started.fields
    return {name: _text(fields.get(name)) for name in ("name", "project", "service")} | {
        "hand": hand_of(fields.get("hand"))
    }


def hand_of(given: object) -> tuple[str, int] | None:
    """The hand that a run names, if what it says is one."""
    if not isinstance(given, Mapping):
        return None
    try:
        return checked_id("tableId", given.get("tableId")), checked_index(
            "handNumber", given.get("handNumber")
        )
    except IdError:
        return None


def state_of(hot: BufferedHead | None, row: AgentRun | None, *, buffer_ok: bool) -> RunState:
    """Where a run is, of which at least one store has something."""
    if row is None:
        return RunState.LIVE
    if hot is None:
        return RunState.KEPT if buffer_ok else RunState.UNKNOWN
    return RunState.KEPT if row.last_arrival >= hot.last_arrival else RunState.PARTLY_KEPT


def absent_state(seen_ms: int, clock: Clock) -> RunState:
    """What became of a run of which no store has more than its name."""
    return RunState.EXPIRED if clock.has_passed(time_of(seen_ms)) else RunState.GONE


def _named(row: AgentRun) -> dict[str, Any]:
    """A kept run is called what its row says; what was recorded stands in its events."""
    hand = None if row.table_id is None or row.hand_number is None else (row.table_id, row.hand_number)
    return {"name": row.name, "project": row.project, "service": row.service, "hand": hand}


def _status(hot: BufferedHead | None, row: AgentRun | None) -> RunStatus:
    """What is in the buffer came after, or with, what is kept."""
    if hot is not None and hot.finished is not None:
        end = _end(hot)
        return status_of(end) if end is not None else RunStatus.UNFINISHED
    if row is None or (hot is not None and hot.resumed_arrival is not None):
        return RunStatus.UNFINISHED
    return RunStatus(row.status)


def _lasted_ms(hot: BufferedHead | None, row: AgentRun | None) -> int | None:
    started, end = None if hot is None or hot.started is None else hot.started.event, _end(hot)
    return lasted_ms(started, end) if end is not None else None if row is None else row.lasted_ms


def _end(hot: BufferedHead | None) -> RunEvent | None:
    """The end that is in force in the buffer."""
    if hot is None or hot.finished is None:
        return None
    is_over = hot.resumed_arrival is None or hot.resumed_arrival < hot.finished.arrival
    return hot.finished.event if is_over else None


def _counts(hot: BufferedHead | None, row: AgentRun | None) -> dict[str, int]:
    """Events by kind, of those that are there: one that is in both stores counts once."""
    kept = counts_of(row)
    live = {} if hot is None else hot.counts | ({OTHER_KIND: hot.other} if hot.other else {})
    known = {kind: count for kind, count in kept.items() if not hot or not hot.other or kind in live}
    return {kind: max(live.get(kind, 0), known.get(kind, 0)) for kind in sorted({*live, *known})}


def counts_of(row: AgentRun | None) -> dict[str, int]:
    """The counts of a kept run."""
    found = {} if row is None else unpack(bytes(row.counts))
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def time_of(ms: int) -> datetime.datetime:
    """A moment of the buffer's clock."""
    return datetime.datetime.fromtimestamp(ms / 1_000, datetime.UTC)
