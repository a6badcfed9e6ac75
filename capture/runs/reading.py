"""The read door of runs: what the stores know of one, merged, with where it was looked for.

``RunKey`` names the agent: an owner's read cannot forget its scope, and touches that agent's keys only.
"""

import datetime
from collections import Counter
from dataclasses import replace
from enum import StrEnum

from capture.hands import read_clock
from capture.limits import RUN_SENT_AGAIN_SECONDS
from capture.runs import heads, order
from capture.runs.artifacts import ArtifactUnreferenced, read_artifact, read_artifacts
from capture.runs.asking import from_buffer, from_postgres, neither
from capture.runs.cold import KeptRows, kept_run
from capture.runs.hot import BufferedRun
from capture.runs.listing import RunPage, list_runs
from capture.runs.order import HeldEvent
from capture.runs.run import Run, RunHead, RunState
from capture.runs.wanted import RunFilter
from capture_sdk.runs.records import RunKey

__all__ = [
    "ArtifactUnreferenced",
    "RunAbsence",
    "RunFilter",
    "RunMissing",
    "RunPage",
    "list_runs",
    "read_artifact",
    "read_artifacts",
    "read_run",
]


class RunAbsence(StrEnum):
    """Why a run is not there."""

    EXPIRED = "expired"  # its time in the buffer has passed
    GONE = "gone"  # inside its time, and no longer there
    NEVER_SEEN = "never_seen"  # nothing remembers its name: it never was, or long ago
    UNKNOWN = "unknown"  # a store that may have it does not answer


class RunMissing(Exception):
    """No store has the run; ``why`` says what is known of that, ``seen_at`` when it was active last."""

    def __init__(self, key: RunKey, why: RunAbsence, seen_at: datetime.datetime | None = None) -> None:
        super().__init__(f"the run {key.run_id!r} of {key.agent_id!r} is {why.replace('_', ' ')}")
        self.key, self.why, self.seen_at = key, why, seen_at


def read_run(key: RunKey) -> Run:
    """One run, whole: buffer ∪ Postgres by event id, in the order of emission.

    Raises RunMissing where it is not there, StoresUnavailable when neither store answers.
    """
    hot, cold = from_buffer(lambda buffer: buffer.run(key)), from_postgres(lambda: kept_run(key))
    if hot is None and cold is None:
        raise neither()
    held = _union(hot, cold)
    if not held:
        raise _missing(key, hot, cold)
    events = order.in_order(held)
    kept = {each.event_id for each in cold.events} if cold is not None else set[str]()
    return Run(
        head=_head(key, hot or BufferedRun(), cold or KeptRows(), held, buffer_ok=hot is not None),
        events=tuple(events),
        kept=len(kept),
        gaps=tuple(order.gaps(events)),
        damaged=tuple(each.event_id for each in held if each.event is None),
        losses=order.losses(events),
        went_on_at=_went_on(hot, cold),
        buffer_ok=hot is not None,
        durable_ok=cold is not None,
    )


def _union(hot: BufferedRun | None, cold: KeptRows | None) -> list[HeldEvent]:
    """Each event once, as they arrived. The buffer's, unless it cannot be read there and can be in Postgres."""
    found = {each.event_id: each for each in (cold.events if cold is not None else ())}
    for each in hot.events if hot is not None else ():
        kept = found.get(each.event_id)
        if kept is None or kept.event is None or each.event is not None:
            found[each.event_id] = each
    return order.by_arrival(found.values())


def _went_on(hot: BufferedRun | None, cold: KeptRows | None) -> datetime.datetime | None:
    """When a run went on of which the buffer has nothing more, if it did after what is kept arrived.

    A name is active again when an event is sent a second time: a moment later says nothing.
    """
    if hot is None or hot.seen_ms is None or hot.events or cold is None or cold.row is None:
        return None
    seen = heads.time_of(hot.seen_ms)
    return seen if (seen - cold.row.last_at).total_seconds() > RUN_SENT_AGAIN_SECONDS else None


def _missing(key: RunKey, hot: BufferedRun | None, cold: KeptRows | None) -> RunMissing:
    seen = None if hot is None or hot.seen_ms is None else heads.time_of(hot.seen_ms)
    if hot is None or cold is None:
        return RunMissing(key, RunAbsence.UNKNOWN, seen)
    if seen is None:
        return RunMissing(key, RunAbsence.NEVER_SEEN)
    has_passed = read_clock().has_passed(seen)
    return RunMissing(key, RunAbsence.EXPIRED if has_passed else RunAbsence.GONE, seen)


def _head(
    key: RunKey, hot: BufferedRun, cold: KeptRows, held: list[HeldEvent], *, buffer_ok: bool
) -> RunHead:
    """The head that the events themselves tell; the stores tell the times."""
    state, marks = _state(hot, cold, buffer_ok=buffer_ok), order.marks(held)
    started = order.first_start(marks)
    return replace(
        heads.head_of(key, hot.head, cold.row, state, now=read_clock().now),
        status=order.status_of_all(marks),
        lasted_ms=order.lasted_ms(started, order.end_of_all(marks)),
        counts=dict(Counter(each.event.kind for each in held if each.event is not None)),
        **heads.named_by(started),
    )


def _state(hot: BufferedRun, cold: KeptRows, *, buffer_ok: bool) -> RunState:
    if not cold.events:
        return RunState.LIVE
    if not buffer_ok:
        return RunState.UNKNOWN
    kept = {each.event_id for each in cold.events}
    return RunState.KEPT if all(each.event_id in kept for each in hot.events) else RunState.PARTLY_KEPT
