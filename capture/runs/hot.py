"""Reads of runs in the hot buffer: what ``capture_sdk.transports.run_writes`` wrote, and nothing of Redis in it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from capture.buffer import Buffer
from capture.limits import RUN_CHUNK_ARTIFACTS, RUN_CHUNK_FIELDS, RUN_PAGE
from capture.runs.order import HeldEvent, opened
from capture_sdk.keys import RUN_AGENTS_KEY, artifact_key, run_key, runs_key
from capture_sdk.runs.records import EventKind, RunKey
from capture_sdk.transports.run_writes import ARRIVALS_PER_MS

_PLACE_BYTES: Final = 8  # of the arrival number before each event
_COUNTED: Final = tuple(EventKind)
_FIXED: Final = (
    "\0began",
    "\0at",
    "\0events",
    "\0first:run.started",
    "\0last:run.finished",
    "\0last:run.resumed",
)


@dataclass(frozen=True, slots=True)
class BufferedHead:
    """What the buffer says of a run as a whole. Times are its own, in ms; ``last_arrival`` grows with each event.

    ``other`` counts events of kinds that are not ours. ``started`` and ``finished`` are the events of the head.
    """

    began_ms: int
    at_ms: int
    last_arrival: int
    ttl_ms: int
    counts: dict[str, int]
    started: HeldEvent | None
    finished: HeldEvent | None
    resumed_arrival: int | None
    other: int = 0


@dataclass(frozen=True, slots=True)
class BufferedRun:
    """One run in the buffer: ``head`` is None where it is not there. ``seen_ms`` is when its name was active last."""

    head: BufferedHead | None = None
    events: tuple[HeldEvent, ...] = ()
    seen_ms: int | None = None
    artifacts: frozenset[str] = field(default_factory=frozenset)


class RunBuffer(Buffer):
    """The capture Redis, as far as runs are concerned."""

    def run(self, key: RunKey) -> BufferedRun:
        """The whole run, piece by piece: events that arrive meanwhile may be in it or not."""
        name = run_key(key.agent_id, key.run_id)
        seen = self.seen_ms(key)
        fields, cursor = dict[bytes, bytes](), 0
        while True:
            cursor, piece = self._ask([("hscan", name, cursor, None, RUN_CHUNK_FIELDS)])[0]
            fields.update(piece)
            if not cursor:
                break
        head = self.heads([key])[key] if fields else None
        return BufferedRun(
            head,
            tuple(_event(key, name, value) for name, value in fields.items() if not name.startswith(b"\0")),
            seen,
            frozenset(each[10:].decode() for each in fields if each.startswith(b"\0artifact:")),
        )

    def event(self, key: RunKey, event_id: str) -> HeldEvent | None:
        """One event, without the others of its run."""
        value = self._ask([("hget", run_key(key.agent_id, key.run_id), event_id)])[0]
        return None if value is None else _event(key, event_id.encode(), value)

    def heads(self, keys: Sequence[RunKey], *, more: Sequence[str] = ()) -> dict[RunKey, BufferedHead | None]:
        """The heads of these runs; None for one that is not there. Of kinds that are not ours, ``more`` are counted."""
        kinds = tuple(dict.fromkeys((*_COUNTED, *more)))
        wanted = [*_FIXED, *(f"\0count:{each}".encode("utf-8", "surrogatepass") for each in kinds)]
        names = [run_key(key.agent_id, key.run_id) for key in keys]
        answers = self._ask([each for name in names for each in (("hmget", name, wanted), ("pttl", name))])
        return {
            key: _head(key, values, ttl, kinds)
            for key, values, ttl in zip(keys, answers[0::2], answers[1::2], strict=True)
        }

    def seen_ms(self, key: RunKey) -> int | None:
        """When the run's name was last active; None where nothing remembers it."""
        return self.all_seen_ms([key])[0]

    def all_seen_ms(self, keys: Sequence[RunKey]) -> list[int | None]:
        """The same of several."""
        scores = self._ask([("zscore", runs_key(key.agent_id), key.run_id) for key in keys])
        return [None if score is None else int(score) for score in scores]

    def agent_names(self) -> list[str]:
        """The agents that have runs, the last active first."""
        return [name.decode() for name in self._ask([("zrevrange", RUN_AGENTS_KEY, 0, -1)])[0]]

    def runs_of(self, agent_id: str) -> Iterator[list[RunKey]]:
        """All of an agent's runs whose names are remembered, some at a time, in no order; one may come twice."""
        cursor = 0
        while True:
            cursor, found = self._ask([("zscan", runs_key(agent_id), cursor, None, RUN_PAGE)])[0]
            yield [RunKey(agent_id, name.decode()) for name, _ in found]
            if not cursor:
                return

    def runs_before(
        self, agents: Sequence[str], before_ms: int, at_most: int
    ) -> list[list[tuple[RunKey, int]]]:
        """For each agent its newest runs that were last active before then, with when."""
        return self._names([("zrevrangebyscore", f"({before_ms}", "-inf", 0, at_most)], agents)

    def runs_at(self, agents: Sequence[str], at_ms: int) -> list[list[tuple[RunKey, int]]]:
        """For each agent its runs that were last active in just this millisecond."""
        return self._names([("zrevrangebyscore", at_ms, at_ms, None, None)], agents)

    def artifacts(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """The artifacts of these hashes that are still there, as they are stored."""
        found: dict[str, bytes] = {}
        wanted = sorted(set(hashes))
        for start in range(0, len(wanted), RUN_CHUNK_ARTIFACTS):
            found |= self._blobs(wanted[start : start + RUN_CHUNK_ARTIFACTS], artifact_key)
        return found

    def refers_to(self, pairs: Sequence[tuple[RunKey, str]]) -> list[bool]:
        """For each run and hash, whether an event of that run in the buffer refers to the artifact."""
        return self._ask(
            [("hexists", run_key(key.agent_id, key.run_id), f"\0artifact:{sha256}") for key, sha256 in pairs]
        )

    def _names(
        self, command: Sequence[tuple[Any, ...]], agents: Sequence[str]
    ) -> list[list[tuple[RunKey, int]]]:
        ((verb, *rest),) = command
        answers = self._ask([(verb, runs_key(agent), *rest, True) for agent in agents])
        return [
            [(RunKey(agent, name.decode()), int(score)) for name, score in found]
            for agent, found in zip(agents, answers, strict=True)
        ]


def _event(key: RunKey, name: bytes, value: bytes) -> HeldEvent:
    arrival = int.from_bytes(value[:_PLACE_BYTES], "big")
    return opened(key, name.decode("utf-8", "replace"), arrival, value[_PLACE_BYTES:])


def _head(key: RunKey, values: list[bytes | None], ttl: int, kinds: Sequence[str]) -> BufferedHead | None:
    began, at, last, started, finished, resumed = values[: len(_FIXED)]
    if began is None or at is None or last is None:
        return None
    counts = {
        str(kind): int(count) for kind, count in zip(kinds, values[len(_FIXED) :], strict=True) if count
    }
    before_first = int(began) * ARRIVALS_PER_MS
    return BufferedHead(
        began_ms=int(began),
        at_ms=int(at),
        last_arrival=int(last),
        ttl_ms=max(ttl, 0),
        counts=counts,
        started=_of_head(key, started),
        finished=_of_head(key, finished),
        resumed_arrival=None if resumed is None else int.from_bytes(resumed[:_PLACE_BYTES], "big"),
        other=int(last) - before_first - sum(counts.values()),
    )


def _of_head(key: RunKey, value: bytes | None) -> HeldEvent | None:
    """An event of the head, whose id stands in itself alone."""
    if value is None:
        return None
    return opened(key, None, int.from_bytes(value[:_PLACE_BYTES], "big"), value[_PLACE_BYTES:])
