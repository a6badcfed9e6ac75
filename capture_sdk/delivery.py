"""From the turn's thread to the buffer: a bounded queue, one lazy daemon thread, every loss counted.

The turn's thread pays for one lock and one append. Hashing, redaction, encoding and the network are the
background thread's, which looks for turns every so often while turns come, and has to be woken only after a
rest. While the store is down the queue holds what its two bounds allow, the rest is dropped and counted;
after ``max_attempts`` a batch is given up and counted too. Log lines carry reasons and counts, never recorded
content, and at most one a reason every ten seconds.
"""

import atexit
import logging
import os
import random
import sys
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from capture_sdk.codec import frame, packed
from capture_sdk.config import Config
from capture_sdk.dictionaries import Dictionaries
from capture_sdk.errors import IdError, TransportError
from capture_sdk.keys import dictionary_key, envelope_key
from capture_sdk.records import TurnRecord
from capture_sdk.redact.policy import CapturePolicy
from capture_sdk.sealing import seal
from capture_sdk.splitting import Splitter
from capture_sdk.transports import Blob, Parcel, Transport
from capture_sdk.turns import Turn

log = logging.getLogger("capture_sdk")

_LOG_EVERY_SECONDS: Final = 10.0
_REST_AFTER_SECONDS: Final = 5.0  # without a turn; until then the thread looks by itself and costs no wake-up
_HANDS_NUMBERED: Final = 4_096  # sequence counters kept; an agent plays a few hands at a time
_CAN_BE_CUT: Final = (
    "artifacts knowledge prompt response reasoning attempts adjustments decision unsent usage".split()
)


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
        self.policy: CapturePolicy = config.policy
        self._last_logged: dict[str, float] = {}
        self._begin()
        _living.add(self)

    def _begin(self) -> None:
        """The state of one process; a forked child begins anew and leaves the parent's turns to it."""
        self._lock = threading.Lock()
        self._settled = threading.Condition(self._lock)
        self._queue: deque[tuple[Turn, int]] = deque()
        self._held_bytes = 0  # of the queue, and of the batch that is under way
        self._in_flight = self._taken_bytes = 0
        self._thread: threading.Thread | None = None
        self._closed = False
        self._rests = False
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._accepted = self._written = self._retried = self._fallbacks = self._faults = 0
        self._lost: Counter[str] = Counter()
        self._sequences: dict[tuple[object, object, object], int] = {}
        self._dictionaries = Dictionaries()
        self._splitter = Splitter()
        self.client_id = uuid4().hex

    # The turn's thread.

    def submit(self, turn: Turn) -> None:
        """Take a finished turn, or count why not. Never blocks on the store."""
        # A fallback has only a charge; what an exception ended before any answer is no turn to show.
        if turn.fallback_reason is not None or (turn.error is not None and turn.answer is None):
            with self._lock:
                self._fallbacks += turn.is_fallback
            return
        size, hand = turn.size(), turn.where[:3]
        reason = None
        with self._lock:
            try:
                turn.sequence = self._sequences.pop(hand, 0)
                self._sequences[hand] = turn.sequence + 1
            except TypeError:
                pass  # ids that are no ids: the delivery thread will refuse them
            if self._closed:
                reason = "closed"
            elif (
                len(self._queue) >= self._config.queue_items
                or self._held_bytes + size > self._config.queue_bytes
            ):
                reason = "queue_full"
            else:
                if self._thread is None:
                    self._start()
                self._accepted += 1
                self._held_bytes += size
                self._queue.append((turn, size))
            rests, self._rests = self._rests, False
        if reason is not None:
            self._lose(reason, 1)
        elif rests:
            self._wake.set()

    def fault(self, where: str, error: Exception) -> None:
        """Count a fault of the recorder itself; its text may hold content and is not logged."""
        with self._lock:
            self._faults += 1
        self._log_rarely(f"fault:{where}", "capture fault in %s: %s", where, type(error).__name__)

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="capture-delivery", daemon=True)
        self._thread.start()
        _at_worker_end(self)

    # The background thread.

    def _run(self) -> None:
        try:
            last = time.monotonic()
            while True:
                self._wait(last)
                batch = self._take()
                if batch:
                    self._deliver(batch)
                    self._done()
                    last = time.monotonic()
                elif self._closed:
                    return
        finally:
            self._thread = None  # whatever ended it, the next turn begins another

    def _wait(self, last: float) -> None:
        """Gather turns for a moment; after a while without any, rest until one comes."""
        with self._lock:
            if len(self._queue) >= self._config.batch_items or self._closed:
                return
            self._rests = not self._queue and time.monotonic() - last > _REST_AFTER_SECONDS
            rests = self._rests
        if self._wake.wait(None if rests else self._config.linger_seconds):
            self._wake.clear()

    def _take(self) -> list[tuple[Turn, int]]:
        with self._lock:
            while len(self._sequences) > _HANDS_NUMBERED:
                del self._sequences[next(iter(self._sequences))]
            count = min(len(self._queue), self._config.batch_items)
            batch = [self._queue.popleft() for _ in range(count)]
            self._in_flight = len(batch)
            self._taken_bytes = sum(size for _, size in batch)
        return batch

    def _done(self) -> None:
        with self._lock:
            self._held_bytes -= self._taken_bytes
            self._in_flight = 0
            if not self._queue:
                self._settled.notify_all()

    def _deliver(self, batch: list[tuple[Turn, int]]) -> None:
        parcels = [parcel for turn, _ in batch if (parcel := self._encode(turn)) is not None]
        for attempt in range(1, self._config.max_attempts + 1):
            parcels, reason, wait = self._write(parcels)
            if not parcels:
                return
            if attempt == self._config.max_attempts:
                break
            with self._lock:
                self._retried += len(parcels)
            self._log_rarely(f"retry:{reason}", "capture buffer not written (%s), trying again", reason)
            self._hurry.wait(max(self._backoff(attempt), wait))
        self._lose(reason, len(parcels))

    def _encode(self, turn: Turn) -> Parcel | None:
        try:
            with self._lock:
                losses = dict(self._lost)
            key = turn.key
            record = seal(turn, key, client_id=self.client_id, losses=losses, splitter=self._splitter)
            return self._parcel(record)
        except IdError as exc:
            self._log_rarely("bad_id", "capture refuses a turn: %s", exc)
            self._lose("bad_id", 1)
        except Exception as exc:  # noqa: BLE001 - one strange turn must not end the thread that delivers the others
            self._lose(f"encode:{type(exc).__name__}", 1)
        return None

    def _parcel(self, record: TurnRecord) -> Parcel:
        content = packed(record)
        if len(content) > self._config.max_record_bytes:
            record = fitting(record, self._config.max_record_bytes)
            content = packed(record)
        prompt, dictionary = record.prompt, None
        if self._transport.takes_dictionaries:
            framed, needed, blob = self._dictionaries.frame(record.key.agent_id, content)
            if needed is not None and blob is not None:
                dictionary = Blob(dictionary_key(needed), needed, blob)
        else:
            framed = frame(content)
        envelope = None
        if prompt is not None and prompt.env_hash is not None and prompt.envelope is not None:
            envelope = Blob(envelope_key(prompt.env_hash), prompt.env_hash, prompt.envelope)
        return Parcel(record.key, framed, envelope, dictionary)

    def _write(self, parcels: list[Parcel]) -> tuple[list[Parcel], str, float]:
        """Write once; return what is left to try again, why, and how long the server asks to be left alone."""
        if not parcels:
            return [], "", 0
        try:
            # outbox: allowed because this transport carries records to the buffer, not messages to a table
            refusals = self._transport.write(parcels)
        except TransportError as exc:
            if exc.retryable:
                wait = min(exc.retry_after or 0, self._config.retry_after_limit_seconds)
                return parcels, exc.reason, wait
            self._lose(exc.reason, len(parcels))
            return [], exc.reason, 0
        except Exception as exc:  # noqa: BLE001 - a transport of somebody's own may raise whatever it likes
            return parcels, type(exc).__name__, 0
        with self._lock:
            self._written += len(parcels) - len(refusals)
        for refusal in refusals:
            if not refusal.retryable:
                self._lose(refusal.reason, 1)
        again = [parcels[refusal.index] for refusal in refusals if refusal.retryable]
        return again, refusals[0].reason if refusals else "", 0

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
                self._wake.set()
                self._settled.wait(left)
            return FlushResult(self._written, len(self._queue) + self._in_flight, dict(self._lost))

    def close(self, timeout: float) -> FlushResult:
        """Flush within ``timeout``, count what is left as lost, and let go of the store."""
        self.flush(timeout)
        with self._lock:
            self._closed = True
            left = len(self._queue)
            self._queue.clear()
        if left:
            self._lose("closed", left)
        with self._lock:
            result = FlushResult(self._written, self._in_flight, dict(self._lost))
        self._wake.set()
        self._hurry.set()
        self._transport.close()
        return result

    def exit(self) -> None:
        """The interpreter ends: give the queue its last chance, within the configured bound."""
        self.close(self._config.exit_timeout)

    def forked(self) -> None:
        """Begin anew in a forked child: its parent's thread, locks and sockets are not its own."""
        self._begin()
        self._transport.forked()


def fitting(record: TurnRecord, limit: int) -> TurnRecord:
    """The record without its largest parts, until it fits: what it cannot keep it names as cut."""
    while len(packed(record)) > limit:
        sizes = {name: len(packed(record)) - len(packed(record.without(name))) for name in _CAN_BE_CUT}
        largest = max(sizes, key=lambda name: sizes[name])
        if sizes[largest] <= 0:
            break
        record = record.without(largest)
    return record


_living: "weakref.WeakSet[Delivery]" = weakref.WeakSet()


def _each(verb: str) -> None:
    for delivery in list(_living):
        getattr(delivery, verb)()


def _at_worker_end(delivery: Delivery) -> None:
    """A worker of multiprocessing ends without the interpreter's exit handlers: it has its own."""
    util: Any = sys.modules.get("multiprocessing.util")
    process: Any = sys.modules.get("multiprocessing.process")
    if util is None or process is None or process.parent_process() is None:
        return
    reference = weakref.ref(delivery)

    def end() -> None:
        living = reference()
        if living is not None:
            living.exit()

    util.Finalize(None, end, exitpriority=0)


atexit.register(_each, "exit")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _each("forked"))
