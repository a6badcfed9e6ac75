"""What a run is once it is read: its events in the order of emission, and what can be said of it as a whole."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from capture_sdk.runs.records import RunEvent, RunKey


class RunStatus(StrEnum):
    """How a run ended. A run that did not say so is unfinished, and never ok."""

    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    UNFINISHED = "unfinished"
    UNKNOWN = "unknown"  # nothing but its name is left


class RunState(StrEnum):
    """Where a run's events are."""

    LIVE = "live"  # in the buffer
    PARTLY_KEPT = "partly_kept"  # in the buffer, some of them in Postgres too
    KEPT = "kept"  # all that is known of it is in Postgres
    EXPIRED = "expired"  # it was there, and its time has passed
    GONE = "gone"  # inside its time, and no longer in the buffer
    UNKNOWN = "unknown"  # a store that would have to be asked does not answer


@dataclass(frozen=True, slots=True)
class RunHead:
    """A run as a list shows it. Times are the store's; ``counts`` are events by kind, of those that arrived.

    ``began_at`` is when the first event arrived, ``last_at`` the last. ``lasted_ms`` is from the run's start to its end
    by the clock of the writer of both, None where there is no end, or no such clock. ``hand`` is the one that it names.
    """

    key: RunKey
    name: str | None
    project: str | None
    service: str | None
    status: RunStatus
    state: RunState
    began_at: datetime.datetime | None
    last_at: datetime.datetime | None
    counts: Mapping[str, int]
    expires_at: datetime.datetime | None = None
    hand: tuple[str, int] | None = None
    lasted_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Events of one writer that did not arrive: its sequence numbers from ``first`` to ``last``."""

    writer: str
    first: int
    last: int
    lost: bool  # the writer's own losses cover it


@dataclass(frozen=True, slots=True)
class Run:
    """One run, whole: ``events`` in the order of emission, ``kept`` of them durable.

    ``damaged`` are the ids of events that are stored and cannot be read. ``losses`` are its writers', by reason.
    ``went_on_at`` is when the run was active last, where that is after all that is there: the rest has gone.
    """

    head: RunHead
    events: tuple[RunEvent, ...]
    kept: int
    gaps: tuple[Gap, ...] = ()
    damaged: tuple[str, ...] = ()
    losses: Mapping[str, int] | None = None
    went_on_at: datetime.datetime | None = None
    buffer_ok: bool = True
    durable_ok: bool = True
