"""From the turn's thread to the buffer: a bounded queue, one lazy daemon thread, every loss counted.

The turn's thread pays for one lock and one append. Encoding, hashing, redaction and the network are the
background thread's. While the store is down the queue holds what its two bounds allow, the rest is
dropped and counted; after ``max_attempts`` a batch is given up and counted too. Log lines carry reasons
and counts, never recorded content, and at most one a reason every ten seconds.
"""

import atexit
import logging
import os
import random
import threading
import time
import weakref
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import uuid4

from capture_sdk.codec import encode
from capture_sdk.config import Config
from capture_sdk.errors import TransportError
from capture_sdk.records import TurnRecord
from capture_sdk.redact.redactor import Redactor
from capture_sdk.transports import Parcel, Transport
from capture_sdk.turns import Turn

log = logging.getLogger("capture_sdk")

_LOG_EVERY_SECONDS: Final = 10.0
_HANDS_NUMBERED: Final = 4_096  # sequence counters kept; an agent plays a few hands at a time


@dataclass(frozen=True, slots=True)
class Stats:
    """What became of the turns so far. ``queued`` are still on their way."""

    accepted: int
    written: int
    retried: int
    queued: int
    fallbacks: int
    faults: int
    lost: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FlushResult:
    """The truth about a flush: what is in the store, what still waits, what was lost and why."""

    written: int
    pending: int
    lost: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.pending == 0 and not self.lost


class Delivery:
    """Takes finished turns from any thread and delivers them from one of its own."""

    def __init__(self, transport: Transport, config: Config) -> None:
        self._transport = transport
        self._config = config
        self._last_logged: dict[str, float] = {}
        self._begin()
        _living.add(self)

    def _begin(self) -> None:
        """The state of one process; a forked child begins anew and leaves the parent's turns to it."""
        self._lock = threading.Condition()
        self._queue: deque[tuple[Turn, int]] = deque()
        self._queued_bytes = 0
        self._in_flight = 0
        self._thread: threading.Thread | None = None
        self._closed = False
        self._idle_wait = threading.Event()
        self._accepted = self._written = self._retried = self._fallbacks = self._faults = 0
        self._lost: Counter[str] = Counter()
        self._sequences: OrderedDict[tuple[str, int, str], int] = OrderedDict()
        self.client_id = uuid4().hex

    # The turn's thread.

    def submit(self, turn: Turn) -> None:
        """Take a finished turn, or count why not. Never blocks on the store."""
        with self._lock:
            if turn.is_fallback or turn.is_abandoned:
                self._fallbacks += turn.is_fallback
                return
            turn.sequence = self._number(turn)
            size = turn.size()
            reason = self._no_room(size)
            if reason is None:
                self._accepted += 1
                self._queue.append((turn, size))
                self._queued_bytes += size
                self._ensure_thread()
                self._lock.notify()
        if reason is not None:
            self._lose(reason, 1)

    def refuse(self, reason: str) -> None:
        """Count a turn that can never be stored."""
        self._lose(reason, 1)

    def fault(self, where: str, error: Exception) -> None:
        """Count a fault of the recorder itself; its text may hold content and is not logged."""
        with self._lock:
            self._faults += 1
        self._log_rarely(f"fault:{where}", "capture fault in %s: %s", where, type(error).__name__)

    def _no_room(self, size: int) -> str | None:
        if self._closed:
            return "closed"
        if len(self._queue) >= self._config.queue_items:
            return "queue_full"
        return "queue_full" if self._queued_bytes + size > self._config.queue_bytes else None

    def _number(self, turn: Turn) -> int:
        """The turn's number within (client, agent, hand), from 0."""
        hand = (turn.key.table_id, turn.key.hand_number, turn.key.agent_id)
        number = self._sequences.pop(hand, 0)
        self._sequences[hand] = number + 1
        if len(self._sequences) > _HANDS_NUMBERED:
            self._sequences.popitem(last=False)
        return number

    def _ensure_thread(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="capture-delivery", daemon=True)
            self._thread.start()

    # The background thread.

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._queue and not self._closed:
                    self._lock.wait()
                if not self._queue:
                    return
                batch = self._take()
            self._deliver(batch)
            with self._lock:
                self._in_flight = 0
                self._lock.notify_all()

    def _take(self) -> list[Turn]:
        batch: list[Turn] = []
        while self._queue and len(batch) < self._config.batch_items:
            turn, size = self._queue.popleft()
            self._queued_bytes -= size
            batch.append(turn)
        self._in_flight = len(batch)
        return batch

    def _deliver(self, batch: list[Turn]) -> None:
        parcels = [parcel for turn in batch if (parcel := self._encode(turn)) is not None]
        for attempt in range(1, self._config.max_attempts + 1):
            parcels, reason = self._write(parcels)
            if not parcels:
                return
            if attempt == self._config.max_attempts:
                break
            with self._lock:
                self._retried += len(parcels)
            self._log_rarely(f"retry:{reason}", "capture buffer not written (%s), trying again", reason)
            self._idle_wait.wait(self._backoff(attempt))
        self._lose(reason, len(parcels))

    def _encode(self, turn: Turn) -> Parcel | None:
        try:
            with self._lock:
                losses = dict(self._lost)
            record = redacted(turn.seal(client_id=self.client_id, losses=losses), turn.secrets)
            prompt = record.prompt
            return Parcel(
                record.key,
                encode(record),
                prompt.env_hash if prompt else None,
                prompt.envelope if prompt and prompt.env_hash else None,
            )
        except Exception as exc:  # noqa: BLE001 - one strange turn must not end the thread that delivers the others
            self._lose(f"encode:{type(exc).__name__}", 1)
            return None

    def _write(self, parcels: list[Parcel]) -> tuple[list[Parcel], str]:
        """Write once; return what is left to try again, and why."""
        if not parcels:
            return [], ""
        try:
            # outbox: allowed because this transport carries records to the buffer, not messages to a table
            refusals = self._transport.write(parcels)
        except TransportError as exc:
            if exc.retryable:
                return parcels, exc.reason
            self._lose(exc.reason, len(parcels))
            return [], exc.reason
        except Exception as exc:  # noqa: BLE001 - a transport of somebody's own may raise whatever it likes
            return parcels, type(exc).__name__
        with self._lock:
            self._written += len(parcels) - len(refusals)
        for refusal in refusals:
            if not refusal.retryable:
                self._lose(refusal.reason, 1)
        again = [parcels[refusal.index] for refusal in refusals if refusal.retryable]
        return again, refusals[0].reason if refusals else ""

    def _backoff(self, attempt: int) -> float:
        """Full jitter: anywhere between nothing and the doubled wait, up to its limit."""
        limit = min(self._config.backoff_limit_seconds, self._config.backoff_seconds * 2**attempt)
        return random.uniform(0, limit)  # noqa: S311 - spreads retries, guards nothing

    def _lose(self, reason: str, count: int) -> None:
        """Count a loss, and log it outside of the lock: a handler may be slow, and no turn waits for it."""
        with self._lock:
            self._lost[reason] += count
        self._log_rarely(f"lost:{reason}", "capture lost turns: %s (%d so far)", reason, self._lost[reason])

    def _log_rarely(self, about: str, message: str, *details: object) -> None:
        now = time.monotonic()
        if now - self._last_logged.get(about, -_LOG_EVERY_SECONDS) >= _LOG_EVERY_SECONDS:
            self._last_logged[about] = now
            log.warning(message, *details)

    # Whoever wants to know.

    def stats(self) -> Stats:
        """Counts of this process since it began (or was forked)."""
        with self._lock:
            return Stats(
                accepted=self._accepted,
                written=self._written,
                retried=self._retried,
                queued=len(self._queue) + self._in_flight,
                fallbacks=self._fallbacks,
                faults=self._faults,
                lost=dict(self._lost),
            )

    def flush(self, timeout: float) -> FlushResult:
        """Wait, at most ``timeout`` seconds, until everything accepted so far is written or lost."""
        deadline = time.monotonic() + timeout
        with self._lock:
            while self._queue or self._in_flight:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._lock.wait(left)
            return FlushResult(self._written, len(self._queue) + self._in_flight, dict(self._lost))

    def close(self, timeout: float) -> FlushResult:
        """Flush within ``timeout``, count what is left as lost, and let go of the store."""
        result = self.flush(timeout)
        with self._lock:
            self._closed = True
            left = len(self._queue)
            self._queue.clear()
            self._lock.notify_all()
        if left:
            self._lose("closed", left)
        with self._lock:
            result = FlushResult(result.written, self._in_flight, dict(self._lost))
        self._idle_wait.set()
        self._transport.close()
        return result

    def exit(self) -> None:
        """The interpreter ends: give the queue its last chance, within the configured bound."""
        self.close(self._config.exit_timeout)

    def forked(self) -> None:
        """Begin anew in a forked child: its parent's thread, locks and sockets are not its own."""
        self._begin()
        self._transport.close()


def redacted(record: TurnRecord, secrets: Iterable[str] = ()) -> TurnRecord:
    """Mark credentials in what the agent knew; prompt, response and decision are not touched here.

    (The decision was marked by the outbox, and the prompt and response are byte-faithful.)
    """
    if record.knowledge is None:
        return record
    redactor = Redactor(secrets)
    knowledge = redactor.frozen(record.knowledge)
    if not redactor.count:
        return record
    marks = record.redactions.get("mask", 0) + redactor.count
    return replace(record, knowledge=knowledge, redactions={**record.redactions, "mask": marks})


_living: "weakref.WeakSet[Delivery]" = weakref.WeakSet()


def _each(verb: str) -> None:
    for delivery in list(_living):
        getattr(delivery, verb)()


atexit.register(_each, "exit")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _each("forked"))
