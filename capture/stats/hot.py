"""The buffer in figures: found by SCAN, never by KEYS, and asked in bounded pipelines.

Sizes are ``MEMORY USAGE`` (a key with everything Redis keeps for it), and ``STRLEN`` for the content alone. A key that
SCAN gives twice, which it may while its table grows, counts twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from django_redis import get_redis_connection
from redis.exceptions import RedisError

from capture.buffer import BufferUnavailable
from capture.limits import STATS_PIPELINE_KEYS, STATS_READ_TURNS
from capture.stats.sample import TurnSample

_KINDS: Final = {
    "turn": "turns",
    "hand": "seats",
    "agents": "hands",
    "env": "envelopes",
    "dict": "dictionaries",
    "run": "runs",
    "runs": "runLists",
    "run-agents": "runLists",
    "art": "artifacts",
}
_CONTENT: Final = ("turns", "envelopes", "dictionaries")  # runs are counted beside them
_HOUR_MS: Final = 3_600_000
_NO_TTL: Final = -1
# What is left, in hours, below each of these; above the last one is a class of its own.
_TTL_HOURS: Final = (1, 6, 12, 18, 24)


@dataclass(slots=True)
class BufferFigures:
    """What the buffer holds. ``keys``, ``memory_bytes`` and ``content_bytes`` are by kind; ``ttl`` is of the turns.

    ``seats`` are an agent's sets in a hand. ``without_ttl`` must be 0. ``sample`` tells what the turns themselves tell.
    """

    keys: Counter[str] = field(default_factory=Counter)
    memory_bytes: Counter[str] = field(default_factory=Counter)
    content_bytes: Counter[str] = field(default_factory=Counter)
    ttl: Counter[str] = field(default_factory=Counter)
    without_ttl: int = 0
    server: dict[str, object] = field(default_factory=dict)
    sample: TurnSample = field(default_factory=TurnSample)

    @property
    def stored_bytes(self) -> int:
        """Of content alone: turns, envelopes and dictionaries."""
        return sum(self.content_bytes.values())

    @property
    def raw_bytes(self) -> int | None:
        """What the same turns would take whole and uncompressed, each with its envelope; None for no turn read.

        Where more turns are there than were read, those that were read stand for the others.
        """
        if not self.sample.read:
            return None
        return round(self.sample.raw_bytes * self.keys["turns"] / self.sample.read)

    def count(self, kind: str, ttl_ms: int, memory: int, length: int) -> None:
        """Count one key of this kind."""
        self.keys[kind] += 1
        self.memory_bytes[kind] += memory
        self.without_ttl += ttl_ms == _NO_TTL
        if kind in _CONTENT:
            self.content_bytes[kind] += length
        if kind == "turns":
            self.ttl[_left(ttl_ms)] += 1


def buffer_figures(*, on_keys: Callable[[int], object]) -> BufferFigures:
    """Walk the whole buffer; ``on_keys`` is told how many keys were looked at. Raises BufferUnavailable."""
    redis = get_redis_connection("capture")
    try:
        return _figures(redis, on_keys)
    except RedisError as exc:
        raise BufferUnavailable(type(exc).__name__) from exc


def _figures(redis: Any, on_keys: Callable[[int], object]) -> BufferFigures:
    figures = BufferFigures(server=_server(redis.info()))
    envelopes: dict[str, int] = {}
    turns: list[bytes] = []
    for keys in _batches(redis.scan_iter(count=STATS_PIPELINE_KEYS), STATS_PIPELINE_KEYS):
        _weigh(redis, figures, keys, envelopes)
        turns += [key for key in keys if _kind(key) == "turns"][: STATS_READ_TURNS - len(turns)]
        on_keys(len(keys))
    # Sorted, so that turns that share a dictionary follow each other.
    for keys in _batches(sorted(turns), STATS_PIPELINE_KEYS):
        figures.sample.read_turns(redis, keys, envelopes)
    return figures


def _weigh(redis: Any, figures: BufferFigures, keys: list[bytes], envelopes: dict[str, int]) -> None:
    """Count one batch of keys by kind; ``envelopes`` gets the length of each by its hash."""
    with redis.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.pttl(key)
            pipe.memory_usage(key, samples=0)
            pipe.strlen(key) if _kind(key) in _CONTENT else pipe.exists(key)
        answers = pipe.execute(raise_on_error=False)
    for key, ttl, memory, length in zip(keys, answers[0::3], answers[1::3], answers[2::3], strict=True):
        if isinstance(memory, RedisError):
            raise memory
        if memory is None:  # it has expired since SCAN named it
            continue
        # Whatever is under one of our names and is no text is not ours.
        kind = "other" if isinstance(length, RedisError) else _kind(key)
        figures.count(kind, ttl, memory, length)
        if kind == "envelopes":
            envelopes[key.decode().partition(":")[2]] = length


def _kind(key: bytes) -> str:
    return _KINDS.get(key.partition(b":")[0].decode("ascii", "replace"), "other")


def _left(ttl_ms: int) -> str:
    if ttl_ms == _NO_TTL:
        return "none"
    for hours in _TTL_HOURS:
        if ttl_ms <= hours * _HOUR_MS:
            return f"up to {hours} h"
    return f"over {_TTL_HOURS[-1]} h"


def _server(info: dict[str, Any]) -> dict[str, object]:
    names = ("used_memory", "maxmemory", "maxmemory_policy", "evicted_keys", "expired_keys")
    return {name: info.get(name) for name in names}


def _batches(keys: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    walk = iter(keys)
    while batch := list(islice(walk, size)):
        yield batch
