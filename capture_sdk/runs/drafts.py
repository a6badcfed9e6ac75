"""An event as the agent's thread leaves it: copied at the call, and neither redacted nor encoded yet."""

import itertools
import os
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal, Protocol
from uuid import uuid4

from capture_sdk.freeze import snapshot_items
from capture_sdk.records import RunKey
from capture_sdk.runs.records import EventKind, Status

_HELD: Final = 600  # bytes of the objects themselves, for the queue's bound
_FRAMES: Final = 40  # of a traceback, the innermost: what a reader looks at
_LONGEST_TRACE: Final = 16_384  # characters, the last ones
_SECRETS_KEPT: Final = 64  # of a run, the latest: each event is searched for every one of them


class Unset(Enum):
    """What was not given: in a record it is absent (not captured), where None is *nothing*."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
NotGiven = Literal[Unset.UNSET]


@dataclass(slots=True)
class Fault:
    """An exception, or what an agent says went wrong; it holds no frame and no object of the agent's."""

    type: str
    message: str
    trace: traceback.TracebackException | None = None

    def fields(self) -> dict[str, object]:
        """As a body has it. The source lines are read only now, on the delivery thread."""
        said: dict[str, object] = {"type": self.type, "message": self.message}
        if self.trace is not None:
            text = "".join(self.trace.format())
            said["traceback"] = text if len(text) <= _LONGEST_TRACE else f"[CUT]{text[-_LONGEST_TRACE:]}"
        return said


@dataclass(slots=True)
class Streamed:
    """What a stream has brought so far: chunks as they were copied, and when each arrived."""

    chunks: list[tuple[bytes, bool]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    joiner: str | bytes = ""
    bytes: int = 0
    is_complete: bool = False
    is_cut: bool = False
    has_ended: bool = False


@dataclass(slots=True)
class Draft:
    """One event. ``fields`` is the packed map of its body, ``unsettled`` whether ``settle`` has yet to look at it."""

    writer: "Writer"
    key: RunKey
    kind: str
    event_id: str
    writer_id: str
    sequence: int
    at: float
    parent_id: str | None
    fields: bytes
    unsettled: bool
    fault: Fault | None = None
    streamed: Streamed | None = None

    def size(self) -> int:
        """About how many bytes it holds in memory."""
        return _HELD + len(self.fields) + (self.streamed.bytes if self.streamed is not None else 0)


class Sink(Protocol):
    """Where drafts go: the client's delivery."""

    @property
    def is_off(self) -> bool: ...
    @property
    def longest(self) -> int: ...
    def accept(self, item: Draft, size: int) -> None: ...
    def lose(self, reason: str, items: list[Draft], *, beside: int = 0) -> None: ...
    def fault(self, where: str, error: Exception) -> None: ...


class Losses:
    """Which of a writer's events were lost. An event tells of those before it: so a reader knows a gap's reason.

    What was lost ahead of the events that still wait is kept as (first, last, reason).
    """

    def __init__(self) -> None:
        self._told: Counter[str] = Counter()
        self._ahead: deque[tuple[int, int, str]] = deque()
        self._place = -1

    def add(self, sequence: int, reason: str) -> None:
        """Note one; in the order of emission, as a rule."""
        if sequence <= self._place:
            self._told[reason] += 1
        elif self._ahead and self._ahead[-1][1:] == (sequence - 1, reason):
            self._ahead[-1] = (self._ahead[-1][0], sequence, reason)
        else:
            self._ahead.append((sequence, sequence, reason))

    def before(self, sequence: int) -> dict[str, int]:
        """Those before this one, by reason, as far as they are known now."""
        self._place = max(self._place, sequence)
        while self._ahead and self._ahead[0][1] < sequence:
            first, last, reason = self._ahead.popleft()
            self._told[reason] += last - first + 1
        return dict(self._told)


class Writer:
    """One process's hand on one run: it numbers that run's events, and remembers which were lost.

    ``key`` is None where there is no run to write to; ``reason`` then says why, and counts what is lost by it.
    """

    def __init__(self, key: RunKey | None, sink: Sink, reason: str = "no_run") -> None:
        self.key = key
        self.sink = sink
        self._reason = reason
        self._begin()

    def _begin(self) -> None:
        self.process = os.getpid()
        self.id = uuid4().hex
        self.losses = Losses()
        self.secrets: tuple[str, ...] = ()  # found so far, and masked wherever they occur later in the run
        self._numbers = itertools.count()

    def learn(self, secrets: frozenset[str]) -> None:
        """Take in what an event was found to hold; the delivery thread's."""
        known = set(self.secrets)
        self.secrets = (*self.secrets, *sorted(secrets - known))[-_SECRETS_KEPT:]

    @property
    def is_idle(self) -> bool:
        """Whether nothing that it is given goes anywhere."""
        return self.sink.is_off or self.key is None

    def record(
        self,
        kind: EventKind,
        fields: Mapping[str, object],
        parent_id: str | None = None,
        *,
        fault: Fault | None = None,
        streamed: Streamed | None = None,
    ) -> str | None:
        """Copy an event and hand it to delivery; its id, or None where it goes nowhere."""
        if self.sink.is_off:
            return None
        if self.key is None:
            self.sink.lose(self._reason, [], beside=1)
            return None
        if self.process != os.getpid():
            self._begin()  # a forked child counts for itself
        at = time.time()
        packed, unsettled = snapshot_items({name: each for name, each in fields.items() if each is not UNSET})
        sequence = next(self._numbers)
        event_id = f"{self.id}-{sequence}"
        draft = Draft(
            self,
            self.key,
            kind,
            event_id,
            self.id,
            sequence,
            at,
            parent_id,
            packed,
            unsettled,
            fault,
            streamed,
        )
        self.sink.accept(draft, draft.size())
        return event_id


def fault_of(error: object) -> Fault | None:
    """What went wrong, from an exception, a text, or a map with ``type`` and ``message``. Never raises."""
    try:
        return _fault(error)
    except Exception:  # noqa: BLE001 - an object of the agent's that cannot even say what it is
        return Fault(type(error).__name__, "")


def _fault(error: object) -> Fault | None:
    if error is None:
        return None
    if isinstance(error, BaseException):
        trace = traceback.TracebackException(
            type(error), error, error.__traceback__, limit=-_FRAMES, lookup_lines=False
        )
        return Fault(type(error).__qualname__, str(trace), trace)
    if isinstance(error, Mapping):
        said: Any = error
        return Fault(str(said.get("type", "error")), str(said.get("message", "")))
    return Fault("error", str(error))


def status_of(error: object) -> Status:
    """How something ended that this stopped. Being cancelled, closed or interrupted is no error of its own."""
    if error is None:
        return Status.OK
    asyncio = sys.modules.get("asyncio.exceptions")  # not imported by anybody: then nothing was cancelled
    cancelled = (GeneratorExit, KeyboardInterrupt, *((asyncio.CancelledError,) if asyncio else ()))
    if isinstance(error, cancelled):
        return Status.CANCELLED
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return Status.OK  # the agent leaves by itself, and says that all is well
    return Status.ERROR
