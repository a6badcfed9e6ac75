"""The lists that the agents of a hand held, turn by turn, each entry in a form that compares."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from capture.limits import SEEN_ENTRIES, SEEN_TOTAL
from capture.merge import CapturedTurn
from capture_sdk.freeze import jsonable, repack, unpack
from viewer.why.values import named, opened

_FLOORS: Final = 3  # of mappings in which a list is still looked for

Entries = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """The lists that one agent held at one turn, by path."""

    turn: CapturedTurn
    lists: dict[str, Entries]

    @property
    def agent_id(self) -> str:
        """Whose they are."""
        return self.turn.key.agent_id

    @property
    def index(self) -> int:
        """The turn's action index."""
        return self.turn.key.action_index


class Reader:
    """Reads lists out of knowledge; an entry that many turns hold is brought into its form once."""

    def __init__(self) -> None:
        self._read = 0
        self._forms: dict[bytes, str] = {}

    @property
    def gave_up(self) -> bool:
        """Whether there was more than is read, so that nothing can be said for certain."""
        return self._read > SEEN_TOTAL

    def held(self, turn: CapturedTurn) -> Held:
        """What the agent held in lists at this turn; none where its knowledge was not captured."""
        return Held(turn, self._lists_of(turn))

    def _lists_of(self, turn: CapturedTurn) -> dict[str, Entries]:
        frozen = turn.record.knowledge if turn.record is not None else None
        if frozen is None or self.gave_up:
            return {}
        return {path: self._entries(held) for path, held in _lists("", unpack(frozen), _FLOORS)}

    def _entries(self, held: list[object]) -> Entries:
        self._read += len(held)
        return tuple(map(self._form, held)) if not self.gave_up else ()

    def _form(self, entry: object) -> str:
        packed = repack(entry)
        if packed not in self._forms:
            self._forms[packed] = json.dumps(jsonable(entry), sort_keys=True)
        return self._forms[packed]


def _lists(path: str, value: object, floors: int) -> Iterator[tuple[str, list[object]]]:
    _, inside = opened(value)
    if isinstance(inside, list):
        if path and len(inside) <= SEEN_ENTRIES:
            yield path, inside
    elif isinstance(inside, dict) and floors:
        for key, held in inside.items():
            yield from _lists(named(path, key), held, floors - 1)
