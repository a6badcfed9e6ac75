"""What an agent did not know while the others at its table did: a reconnect leaves an empty action log.

A false alarm is worse than silence. An entry counts as missing when another agent's list of the same name held it by
then, and all of this is so: the list is a log, which only grows from turn to turn; the table shares it, by what this
agent's own entries say; and every other agent who acted after the entry was first seen has held it at some time.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from capture.merge import CapturedTurn
from capture_sdk.records import TurnKey
from viewer.why.lists import Entries, Held, Reader
from viewer.why.missing import NotKnown, absent_places

_WITHOUT_PROOF: Final = 3  # other agents who must agree where this one's own entries prove nothing
_LENGTHS: Final = 3  # that a list has had in others' turns: one that grew once may be no log


class Witnesses:
    """Everything that the agents of a hand held in lists, read once for all of its turns."""

    def __init__(self, turns: Sequence[CapturedTurn]) -> None:
        reader = Reader()
        is_alone = len({turn.key.agent_id for turn in turns}) < 2  # nobody knew what this one did not
        held = [] if is_alone else [reader.held(turn) for turn in turns]
        self._held = [] if reader.gave_up else held

    def not_known(self, key: TurnKey) -> tuple[NotKnown, ...]:
        """What the agent of this turn did not know then; nothing where that cannot be said for certain."""
        mine = next((held for held in self._held if held.turn.key == key), None)
        if mine is None:
            return ()
        found = (_of_list(mine, _Path(self._held, path, mine.agent_id)) for path in mine.lists)
        return tuple(each for each in found if each is not None)


class _Path:
    """One list of the hand, as one agent and the others held it."""

    def __init__(self, held: Sequence[Held], path: str, agent_id: str) -> None:
        with_it = sorted((each for each in held if path in each.lists), key=lambda each: each.index)
        self.path = path
        self.own = [each for each in with_it if each.agent_id == agent_id]
        self.others = [each for each in with_it if each.agent_id != agent_id]

    def entries(self, held: Held) -> Entries:
        """What was in it at a turn."""
        return held.lists[self.path]

    def longest_by(self, mine: Held) -> Entries:
        """The longest list that another agent held by this turn."""
        return max(
            (self.entries(held) for held in self.others if _is_by_then(held, mine)), key=len, default=()
        )

    @cached_property
    def _first_held(self) -> dict[str, dict[str, int]]:
        """For each entry, which other agents held it, and from which action index on."""
        first: dict[str, dict[str, int]] = {}
        for held in self.others:
            for entry in self.entries(held):
                first.setdefault(entry, {}).setdefault(held.agent_id, held.index)
        return first

    @cached_property
    def _last_turn(self) -> dict[str, int]:
        return {held.agent_id: held.index for held in self.others}

    def is_everybodys(self, entry: str) -> bool:
        """Whether every other agent who acted once somebody held the entry has held it too."""
        holders = self._first_held.get(entry, {})
        first = min(holders.values(), default=None)
        return first is not None and all(
            agent in holders for agent, last in self._last_turn.items() if last > first
        )

    def is_log(self) -> bool:
        """Whether it only grows, in the hands of the others; one of them may have lost its own."""
        whole = max(map(self.entries, self.others), key=len, default=())
        if not all(_is_part(self.entries(held), whole) for held in self.others):
            return False
        agents = {held.agent_id for held in self.others}
        steady = {agent for agent in agents if _only_grows(self._lengths({agent}))}
        lengths = self._lengths(steady)
        return len(agents - steady) <= 1 and _only_grows(lengths) and len({*lengths} - {0}) >= _LENGTHS

    def _lengths(self, agents: set[str]) -> list[int]:
        return [len(self.entries(held)) for held in self.others if held.agent_id in agents]

    def is_shared(self, mine: Held) -> bool:
        """Whether the table shares it, by this agent's entries now, or else those it held at other turns."""
        if now := self.entries(mine):
            return self._mostly_everybodys(now)
        if own := [entries for held in self.own if (entries := self.entries(held))]:
            return any(map(self._mostly_everybodys, own))
        holders = {held.agent_id for held in self.others if self.entries(held)}
        return len(holders) >= _WITHOUT_PROOF

    def _mostly_everybodys(self, entries: Entries) -> bool:
        return 2 * sum(map(self.is_everybodys, entries)) > len(entries)


def _of_list(mine: Held, where: _Path) -> NotKnown | None:
    own, longest = where.entries(mine), where.longest_by(mine)
    if own[: len(longest)] == longest or not where.is_log() or not where.is_shared(mine):
        return None
    missing = tuple(place for place in absent_places(longest, own) if where.is_everybodys(longest[place]))
    if not missing:
        return None
    knew, knew_at = _knew(mine, where, Counter(longest[place] for place in missing))
    return NotKnown(where.path, len(longest), len(own), missing, knew, knew_at)


def _knew(mine: Held, where: _Path, missing: Counter[str]) -> tuple[int, int | None]:
    """How many of the missing entries the agent itself held before, and when: that memory was lost, not late."""
    earlier = [held for held in where.own if held.index < mine.index]
    knew = [((missing & Counter(where.entries(held))).total(), held.index) for held in earlier]
    most, index = max(knew, default=(0, 0))
    return most, index if most else None


def _is_by_then(held: Held, mine: Held) -> bool:
    """Before this turn; of the same index, captured no later."""
    one, other = held.turn.record, mine.turn.record
    if held.index != mine.index or one is None or other is None:
        return held.index < mine.index
    return one.captured_at <= other.captured_at


def _only_grows(lengths: Sequence[int]) -> bool:
    return list(lengths) == sorted(lengths)


def _is_part(entries: Entries, whole: Entries) -> bool:
    """Whether the entries stand in the whole, in this order."""
    rest: Iterator[str] = iter(whole)
    return all(entry in rest for entry in entries)
