"""The least that a recorder into Redis can do on the turn's thread."""

import threading
import time
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from bench.recorders.keys import redis_client, store
from bench.workload import Turn

_BATCH: Final = 64

_Place = tuple[int, int, str, float]  # hand, action index, version of the agent, time


class BareMinimum:
    """On the turn's thread one encoding of what may still change, and one append; the rest behind it.

    No ids, no checks, no redaction, no fork, no flush at exit: a bound to compare with, not a product.
    It holds 2,000 turns, the oldest go first, and a batch that fails is dropped.
    """

    def __init__(self, url: str) -> None:
        self._redis = redis_client(url)
        self._pack = self._packer()
        self._compress = import_module("zstandard").ZstdCompressor(level=1).compress
        self._queue: deque[tuple[Any, ...]] = deque(maxlen=2_000)
        self._taken = self._written = self._failed = 0
        self._is_busy = False
        self._start()

    def record(self, turn: Turn) -> None:
        """Encode knowledge and message, keep references to the strings, append."""
        packed = self._pack((turn.knowledge, turn.message))
        self._taken += 1
        place = (turn.hand, turn.action_index, turn.version, time.time())
        self._queue.append((place, packed, turn.prompt, turn.envelope, turn.response))

    def drain(self) -> None:
        """Write what waits, at most 64 turns a pipeline."""
        while self._queue:
            self._is_busy = True
            with self._redis.pipeline(transaction=False) as pipe:
                count = 0
                while self._queue and count < _BATCH:
                    self._put(pipe, *self._queue.popleft())
                    count += 1
                self._execute(pipe, count)
            self._is_busy = False

    def flush(self, seconds: float) -> None:
        """Wait until nothing waits any more."""
        end = time.monotonic() + seconds
        while (self._queue or self._is_busy) and time.monotonic() < end:
            time.sleep(0.005)

    def close(self) -> None:
        """A second for what waits; the rest is forgotten."""
        self.flush(1.0)

    def lost(self) -> dict[str, int] | None:
        """What failed, and what the queue pushed out."""
        out = self._taken - self._written - self._failed - len(self._queue)
        return {"failed": self._failed, "pushed_out": out}

    def _packer(self) -> Callable[[object], bytes]:
        encode: Callable[[object], bytes] = import_module("msgspec").msgpack.Encoder().encode
        return encode

    def _start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(0.1)
            self.drain()

    def _put(
        self, pipe: Any, place: _Place, packed: bytes, prompt: str, envelope: str, response: str
    ) -> None:
        rest = prompt[len(envelope) :] if prompt.startswith(envelope) else prompt
        record = self._compress(self._pack((place, packed, rest, response)))
        store(pipe, place[0], place[1], record)

    def _execute(self, pipe: Any, count: int) -> None:
        try:
            pipe.execute()
            self._written += count
        except Exception:  # noqa: BLE001 - whatever it is, the batch is gone and the next one gets its turn
            self._failed += count
            time.sleep(0.5)


class BareMinimumOrmsgpack(BareMinimum):
    """The same with the encoder that the SDK has."""

    def _packer(self) -> Callable[[object], bytes]:
        pack: Callable[[object], bytes] = import_module("ormsgpack").packb
        return pack


class BarePipeline(BareMinimum):
    """The same without a thread: whoever flushes writes, so that no pause is measured."""

    def _start(self) -> None:
        self._queue = deque()

    def flush(self, seconds: float) -> None:
        """Write all that waits, here."""
        self.drain()
