"""The walk through all runs, those that were active last first, of which ``capture.runs.listing`` makes pages.

A run has one place in it: when its name in the buffer was active last, as long as the buffer has the run; else when its
last kept event arrived; else, where nothing but its name is left, when that was active last.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

from capture.absence import Clock
from capture.limits import RUN_LIST_AGENTS, RUN_PAGE
from capture.models import AgentRun
from capture.runs import heads
from capture.runs.asking import from_buffer, from_postgres
from capture.runs.cold import kept_heads
from capture.runs.hot import BufferedHead
from capture.runs.run import RunHead, RunState, RunStatus
from capture.runs.wanted import RunFilter, is_wanted, wanted_rows
from capture_sdk.runs.records import RunKey

_LEAST: Final = 20  # runs of one agent that are named at a time


class Place(NamedTuple):
    """Where a run stands: by milliseconds, then by its names. The walk goes downwards."""

    ms: int
    agent_id: str
    run_id: str

    @property
    def key(self) -> RunKey:
        """The run."""
        return RunKey(self.agent_id, self.run_id)


BEGINNING: Final = Place(2**62, "", "")


class Walk:
    """One walk. ``buffer_ok`` and ``durable_ok`` become false when a store does not answer: it is not asked again."""

    def __init__(self, wanted: RunFilter, agent_id: str | None, clock: Clock) -> None:
        self._wanted, self._clock = wanted, clock
        self._rows = wanted_rows(wanted, agent_id)
        agents = [agent_id] if agent_id is not None else from_buffer(lambda buffer: buffer.agent_names())
        self.buffer_ok, self.durable_ok = agents is not None, True
        self._agents = (agents or [])[:RUN_LIST_AGENTS]
        self.agents_left_out = len(agents or []) - len(self._agents)

    def after(self, at: Place) -> list[Place]:
        """The next places, in order and without one left out: some hundred, or none at the end."""
        hot, hot_floor = self._named(at)
        cold, cold_floor = self._kept(at)
        floor = max(hot_floor, cold_floor)
        self._hot, self._cold = set(hot), set(cold)
        return sorted(
            (each for each in self._hot | self._cold if floor <= each.ms and each < at), reverse=True
        )

    def heads(self, places: Sequence[Place]) -> list[RunHead | None]:
        """The run at each of these places, which ``after`` gave; None where it stands elsewhere or is not wanted."""
        keys = list(dict.fromkeys(place.key for place in places))
        live = self._buffer_heads(keys)
        rows = from_postgres(lambda: kept_heads(keys)) if self.durable_ok else None
        self.durable_ok = rows is not None
        found = (self._head(place, live, rows or {}) for place in places)
        return [head if head is not None and is_wanted(head, self._wanted) else None for head in found]

    def _named(self, at: Place) -> tuple[Iterable[Place], int]:
        """Runs that the buffer names, and down to which time these are all."""
        if not (self.buffer_ok and self._agents):
            return (), 0
        at_most = max(_LEAST, RUN_PAGE // len(self._agents))
        found = from_buffer(lambda buffer: buffer.runs_before(self._agents, at.ms, at_most))
        floors = {
            agent: runs[-1][1]
            for agent, runs in zip(self._agents, found or (), strict=False)
            if len(runs) == at_most
        }
        floor = max(floors.values(), default=0)
        full = [agent for agent, each in floors.items() if each == floor]
        ties = from_buffer(
            lambda buffer: [*buffer.runs_at(self._agents, at.ms), *buffer.runs_at(full, floor)]
        )
        if found is None or ties is None:
            self.buffer_ok = False
            return (), 0
        return (Place(ms, key.agent_id, key.run_id) for key, ms in chain(*found, *ties)), floor

    def _kept(self, at: Place) -> tuple[Iterable[Place], int]:
        """The same of the runs that are kept."""
        found = from_postgres(lambda: self._kept_places(at)) if self.durable_ok else None
        if found is None:
            self.durable_ok = False
            return (), 0
        return found

    def _kept_places(self, at: Place) -> tuple[list[Place], int]:
        rows = self._rows.order_by("-last_at")
        if at is BEGINNING:
            older, ties = rows, self._rows.none()
        else:
            older, ties = (
                rows.filter(last_at__lt=heads.time_of(at.ms)),
                rows.filter(last_at=heads.time_of(at.ms)),
            )
        found = _places(older[:RUN_PAGE])
        floor = found[-1].ms if len(found) == RUN_PAGE else 0
        more = _places(rows.filter(last_at=heads.time_of(floor))) if floor else []
        return [*_places(ties), *found, *more], floor

    def _buffer_heads(self, keys: Sequence[RunKey]) -> dict[RunKey, tuple[BufferedHead | None, int | None]]:
        """What the buffer has of these runs, with when their names were active last."""
        if not self.buffer_ok:
            return {}
        more = [self._wanted.kind] if self._wanted.kind is not None else []
        found = from_buffer(lambda buffer: (buffer.heads(keys, more=more), buffer.all_seen_ms(keys)))
        if found is None:
            self.buffer_ok = False
            return {}
        return {key: (found[0][key], seen) for key, seen in zip(keys, found[1], strict=True)}

    def _head(
        self,
        place: Place,
        live: dict[RunKey, tuple[BufferedHead | None, int | None]],
        rows: dict[RunKey, AgentRun],
    ) -> RunHead | None:
        hot, seen = live.get(place.key, (None, None))
        row = rows.get(place.key)
        is_named = seen is not None and place.agent_id in self._agents
        if place not in (self._hot if (hot is not None and is_named) or row is None else self._cold):
            return None
        if hot is None and row is None:
            state = heads.absent_state(place.ms, self._clock) if self.durable_ok else RunState.UNKNOWN
            at = heads.time_of(place.ms)
            return RunHead(place.key, None, None, None, RunStatus.UNKNOWN, state, None, at, {})
        state = heads.state_of(hot, row, buffer_ok=self.buffer_ok)
        return heads.head_of(place.key, hot, row, state, now=self._clock.now)


def _places(rows: Iterable[AgentRun]) -> list[Place]:
    return [Place(round(row.last_at.timestamp() * 1_000), row.agent_id, row.run_id) for row in rows]
