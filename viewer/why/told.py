"""What of an agent's knowledge stands in its prompt, and where: known and told, or known and not told."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from capture.limits import KNOWN_COUNTED, KNOWN_DEPTH, TOLD_LENGTH, TOLD_SECONDS, TOLD_VALUES
from capture_sdk.freeze import unpack
from viewer.why.finding import Place, Prompt, TooOften
from viewer.why.values import Shown, line_of, named, opened, shown

_SHORTEST: Final = 2  # characters, or digits: a single one stands in any prompt
_LARGE: Final = 10**15  # up to here a float is exact
_LONGEST: Final = 1_000  # bits of an integer that is looked for


@dataclass(frozen=True, slots=True)
class ToldValue:
    """One known value, and where the prompt has it; None where it does not."""

    path: str
    value: Shown
    place: Place | None


@dataclass(frozen=True, slots=True)
class ToldItem:
    """One item of the knowledge: its values that were looked for, and how many at least were not."""

    name: str
    values: tuple[ToldValue, ...]
    not_looked_for: int

    @property
    def found(self) -> int:
        """How many of the values appear in the prompt."""
        return sum(value.place is not None for value in self.values)


@dataclass(frozen=True, slots=True)
class Told:
    """Every item of a turn's knowledge; ``ran_out`` says that time or number bounded the search."""

    items: tuple[ToldItem, ...]
    ran_out: bool


Value = tuple[str, object]


def told(knowledge: bytes | None, prompt: bytes | None, *, remainder_at: int = 0) -> Told | None:
    """Look for each known text and number in the prompt; None where either was not captured.

    ``remainder_at`` is the byte at which the remainder begins.

    Texts are looked for as they are, then with blanks and line ends folded, then as JSON; numbers as whole tokens.
    """
    if knowledge is None or prompt is None:
        return None
    known = unpack(knowledge)
    pairs = known.items() if isinstance(known, dict) else [("knowledge", known)]
    search = _Search(Prompt(prompt), time.monotonic() + TOLD_SECONDS)
    items = [_item(str(name), value, search) for name, value in pairs]
    found = [value.place.offset for item in items for value in item.values if value.place]
    lines = search.prompt.lines([*found, remainder_at])
    return Told(tuple(_placed(item, lines, remainder_at) for item in items), search.ran_out)


class _Search:
    """One search through a prompt: how many values may still be looked for, and until when."""

    def __init__(self, prompt: Prompt, until: float) -> None:
        self.prompt = prompt
        self.ran_out = False
        self._until = until
        self._left = TOLD_VALUES
        self._countable = KNOWN_COUNTED

    def may_count(self, _: object) -> bool:
        """Whether another value of the knowledge is counted, looked for or not."""
        self._countable -= 1
        return self._countable >= 0

    def may_go_on(self) -> bool:
        """Whether there is room and time for another value; counts it."""
        self._left -= 1
        self.ran_out = self.ran_out or self._left < 0 or time.monotonic() > self._until
        return not self.ran_out


def _item(name: str, value: object, search: _Search) -> ToldItem:
    values: list[ToldValue] = []
    skipped = 0
    leaves = _leaves(named("", name), value, 0, lambda entry: _as_json(entry, search))
    for path, leaf in itertools.takewhile(search.may_count, leaves):
        if not _is_sensible(leaf) or not search.may_go_on():
            skipped += 1
            continue
        try:
            values.append(ToldValue(path, shown(leaf), _place(leaf, search.prompt)))
        except TooOften:
            skipped += 1
    return ToldItem(name, tuple(values), skipped)


def _leaves(path: str, value: object, depth: int, is_told_whole: Callable[[object], bool]) -> Iterator[Value]:
    """Texts, numbers and what cannot be opened; an entry of a list as a whole where the prompt has it as JSON."""
    _, inside = opened(value)
    if depth >= KNOWN_DEPTH or not isinstance(inside, dict | list):
        yield path, value
    elif isinstance(inside, dict):
        for key, held in inside.items():
            yield from _leaves(named(path, key), held, depth + 1, is_told_whole)
    else:
        for place, held in enumerate(inside):
            where = f"{path}[{place}]"
            if isinstance(held, dict | list) and is_told_whole(held):
                yield where, held
            else:
                yield from _leaves(where, held, depth + 1, is_told_whole)


def _as_json(entry: object, search: _Search) -> bool:
    return bool(entry) and search.may_go_on() and _place(entry, search.prompt) is not None


def _is_sensible(leaf: object) -> bool:
    """Whether finding it says something: no truth values, no single characters or digits, no documents."""
    if isinstance(leaf, bool) or leaf is None or isinstance(leaf, bytes):
        return False
    if isinstance(leaf, int | float):
        if abs(leaf) < _LARGE:
            return abs(leaf) >= 10 or not float(leaf).is_integer()
        return isinstance(leaf, int) and leaf.bit_length() < _LONGEST
    return not isinstance(leaf, str) or (len(leaf.strip()) >= _SHORTEST and len(leaf) <= TOLD_LENGTH)


def _place(value: object, prompt: Prompt) -> Place | None:
    if isinstance(value, str):
        return prompt.text(value)
    if isinstance(value, int | float):
        return prompt.number(value)
    text = line_of(value)
    return prompt.json(value) if len(text) <= TOLD_LENGTH else None


def _placed(item: ToldItem, lines: Mapping[int, int], remainder_at: int) -> ToldItem:
    """The item with the lines of its places, counted in the whole prompt and in its part."""

    def placed(value: ToldValue) -> ToldValue:
        if value.place is None:
            return value
        line = lines[value.place.offset]
        is_remainder = value.place.offset >= remainder_at
        if is_remainder:
            anchor = f"R{line - lines[remainder_at] + 1}"
            part, part_offset = "remainder", value.place.offset - remainder_at
        else:
            anchor, part, part_offset = f"E{line}", "envelope", value.place.offset
        place = replace(value.place, line=line, part=part, part_offset=part_offset, anchor=anchor)
        return replace(value, place=place)

    return replace(item, values=tuple(map(placed, item.values)))
