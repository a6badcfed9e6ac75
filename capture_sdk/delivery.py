"""From the agent's thread to the buffer: a bounded queue, one lazy daemon thread, every loss counted.

What is queued is a turn (``turn_delivery``) or an event of a run (``runs.delivery``); here is what both share. The
agent's thread pays for one lock and one append. Hashing, redaction, encoding and the network are the background
thread's, which looks for work every so often while work comes, and has to be woken only after a rest. While
the store is down the queue holds what its two bounds allow, the rest is dropped and counted;
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar
from uuid import uuid4

from capture_sdk.config import Config
from capture_sdk.errors import IdError, TransportError
from capture_sdk.redact.policy import CapturePolicy
from capture_sdk.transports import Refusal

log = logging.getLogger("capture_sdk")

_LOG_EVERY_SECONDS: Final = 10.0
_REST_AFTER_SECONDS: Final = 5.0  # without work; until then the thread looks by itself and costs no wake-up

Item = TypeVar("Item")
Packed = TypeVar("Packed")


@dataclass(frozen=True, slots=True)
class Stats:
    """What became of the turns (or events) so far. ``queued`` are still on their way."""

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


class Connected(Protocol):
    """What delivery asks of every transport, whatever it carries."""

    def close(self) -> None: ...
    def forked(self) -> None: ...


class Delivery(Generic[Item, Packed]):
    """Takes finished items from any thread and delivers them from one of its own.

    What they are is its heirs' to say: ``_encode`` packs one, ``_send`` writes a batch of what was packed.
    """

    what = "items"

    def __init__(self, transport: Connected, config: Config) -> None:
        self._out = transport
        self._config = config
        self.policy: CapturePolicy = config.policy
        self._last_logged: dict[str, float] = {}
        self._begin()
        _living.add(self)

    def _begin(self) -> None:
        """The state of one process; a forked child begins anew and leaves the parent's items to it."""
        # Entered again where a signal, or an object that is thrown away, records within the agent's own append.
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._queue: deque[tuple[Item, int]] = deque()
        self._held_bytes = 0  # of the queue, and of the batch that is under way
        self._in_flight = self._taken_bytes = 0
        self._thread: threading.Thread | None = None
        self._closed = False
        self._rests = False
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._accepted = self._written = self._retried = self._fallbacks = self._faults = 0
        self._lost: Counter[str] = Counter()
        self.client_id = uuid4().hex

    # What heirs say of their items.

    def _encode(self, item: Item) -> Packed:
        """Pack one, on the background thread. Raises IdError for one whose ids are none."""
        raise NotImplementedError

    def _send(self, batch: Sequence[Packed]) -> list[Refusal]:
        """Write a batch through the transport, whose words and errors these are."""
        raise NotImplementedError

    def _number(self, item: Item) -> None:
        """Give an item its place in the order, under the queue's lock."""

    def _tidy(self) -> None:
        """Forget what is no longer needed; once a batch, under the queue's lock."""

    def _missed(self, items: Sequence[Item], reason: str) -> None:
        """Learn which items were lost; under the queue's lock."""

    # The agent's thread.

    def accept(self, item: Item, size: int) -> None:
        """Take a finished item of about ``size`` bytes, or count why not. Never blocks on the store."""
        reason = None
        with self._lock:
            self._number(item)
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
                self._queue.append((item, size))
            rests, self._rests = self._rests, False
        if reason is not None:
            self.lose(reason, [item])
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
            self._thread = None  # whatever ended it, the next item begins another

    def _wait(self, last: float) -> None:
        """Gather items for a moment; after a while without any, rest until one comes."""
        with self._lock:
            if len(self._queue) >= self._config.batch_items or self._closed:
                return
            self._rests = not self._queue and time.monotonic() - last > _REST_AFTER_SECONDS
            rests = self._rests
        if self._wake.wait(None if rests else self._config.linger_seconds):
            self._wake.clear()

    def _take(self) -> list[Item]:
        with self._lock:
            self._tidy()
            count = min(len(self._queue), self._config.batch_items)
            batch = [self._queue.popleft() for _ in range(count)]
            self._in_flight = len(batch)
            self._taken_bytes = sum(size for _, size in batch)
        return [item for item, _ in batch]

    def _done(self) -> None:
        with self._lock:
            self._held_bytes -= self._taken_bytes
            self._in_flight = 0
            if not self._queue:
                self._settled.notify_all()

    def _deliver(self, batch: list[Item]) -> None:
        work = [(item, packed) for item in batch if (packed := self._packed(item)) is not None]
        for attempt in range(1, self._config.max_attempts + 1):
            work, reason, wait = self._write(work)
            if not work:
                return
            if attempt == self._config.max_attempts:
                break
            with self._lock:
                self._retried += len(work)
            self._log_rarely(f"retry:{reason}", "capture buffer not written (%s), trying again", reason)
            self._hurry.wait(max(self._backoff(attempt), wait))
        self.lose(reason, [item for item, _ in work])

    def _packed(self, item: Item) -> Packed | None:
        try:
            return self._encode(item)
        except IdError as exc:
            self._log_rarely("bad_id", "capture refuses one of its %s: %s", self.what, exc)
            self.lose("bad_id", [item])
        except Exception as exc:  # noqa: BLE001 - one strange item must not end the thread that delivers the others
            self.lose(f"encode:{type(exc).__name__}", [item])
        return None

    def _write(self, work: list[tuple[Item, Packed]]) -> tuple[list[tuple[Item, Packed]], str, float]:
        """Write once; return what is left to try again, why, and how long the server asks to be left alone."""
        if not work:
            return [], "", 0
        try:
            refusals = self._send([packed for _, packed in work])
        except TransportError as exc:
            if exc.retryable:
                wait = min(exc.retry_after or 0, self._config.retry_after_limit_seconds)
                return work, exc.reason, wait
            self.lose(exc.reason, [item for item, _ in work])
            return [], exc.reason, 0
        except Exception as exc:  # noqa: BLE001 - a transport of somebody's own may raise whatever it likes
            return work, type(exc).__name__, 0
        with self._lock:
            self._written += len(work) - len(refusals)
        for refusal in refusals:
            if not refusal.retryable:
                self.lose(refusal.reason, [work[refusal.index][0]])
        again = [work[refusal.index] for refusal in refusals if refusal.retryable]
        return again, refusals[0].reason if refusals else "", 0

    def _backoff(self, attempt: int) -> float:
        """Full jitter: anywhere between nothing and the doubled wait, up to its limit."""
        limit = min(self._config.backoff_limit_seconds, self._config.backoff_seconds * 2**attempt)
        return random.uniform(0, limit)  # noqa: S311 - spreads retries, guards nothing

    def lose(self, reason: str, items: Sequence[Item], *, beside: int = 0) -> None:
        """Count a loss of ``items``, and of so many ``beside`` them that never became one.

        It is logged outside of the lock: a handler may be slow, and no agent waits for it.
        """
        with self._lock:
            self._lost[reason] += len(items) + beside
            self._missed(items, reason)
        self._log_rarely(
            f"lost:{reason}", "capture lost %s: %s (%d so far)", self.what, reason, self._lost[reason]
        )

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
            left = [item for item, _ in self._queue]
            self._queue.clear()
        if left:
            self.lose("closed", left)
        with self._lock:
            result = FlushResult(self._written, self._in_flight, dict(self._lost))
        self._wake.set()
        self._hurry.set()
        self._out.close()
        return result

    def exit(self) -> None:
        """The interpreter ends: give the queue its last chance, within the configured bound."""
        self.close(self._config.exit_timeout)

    def forked(self) -> None:
        """Begin anew in a forked child: its parent's thread, locks and sockets are not its own."""
        self._begin()
        self._out.forked()


_living: "weakref.WeakSet[Delivery[Any, Any]]" = weakref.WeakSet()


def _each(verb: str) -> None:
    for delivery in list(_living):
        getattr(delivery, verb)()


def _at_worker_end(delivery: Delivery[Any, Any]) -> None:
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
