"""Simple forms of a turn in the buffer, to compare memory with."""

import time
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from typing import Any

from bench.recorders.keys import TTL, redis_client, store
from bench.workload import AGENT, TABLE, Turn


class Naive:
    """Writes each turn whole, at once: msgpack of everything."""

    def __init__(self, url: str) -> None:
        self._redis = redis_client(url)
        self._pack: Callable[[object], bytes] = import_module("msgspec").msgpack.Encoder().encode

    def record(self, turn: Turn) -> None:
        """One pipeline a turn."""
        with self._redis.pipeline(transaction=False) as pipe:
            store(pipe, turn.hand, turn.action_index, self._form(pipe, turn))
            pipe.execute()

    def flush(self, seconds: float) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Let go of the connection."""
        self._redis.close()

    def lost(self) -> dict[str, int] | None:
        """What fails raises."""
        return {}

    def _form(self, pipe: Any, turn: Turn) -> bytes:
        return self._pack(self._fields(turn) | {"prompt": turn.prompt})

    def _fields(self, turn: Turn) -> dict[str, object]:
        return {
            "table_id": TABLE,
            "hand_number": turn.hand,
            "agent_id": AGENT,
            "action_index": turn.action_index,
            "agent_version_id": turn.version,
            "captured_at": time.time(),
            "knowledge": turn.knowledge,
            "response": turn.response,
            "decision": [turn.message],
        }


class NaiveSplit(Naive):
    """The envelope stored once, under its hash."""

    def _form(self, pipe: Any, turn: Turn) -> bytes:
        envelope = turn.envelope.encode()
        name = sha256(envelope).hexdigest()
        pipe.set(f"env:{name}", envelope, ex=TTL)
        return self._pack(self._fields(turn) | {"envelope": name, "remainder": turn.remainder})


class NaiveSplitZstd(NaiveSplit):
    """That, and each record compressed alone."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._compress: Callable[[bytes], bytes] = import_module("zstandard").ZstdCompressor(level=1).compress

    def _form(self, pipe: Any, turn: Turn) -> bytes:
        return self._compress(super()._form(pipe, turn))
