"""Two sequences of steps laid side by side: what is common keeps its order, and as much of it as can be. Pure.

The work is bounded. Common beginnings and ends cost one look each; between them, at most ``COMPARED_STEPS`` of each
are aligned, and what is left over is told.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from capture.limits import COMPARED_STEPS

Pair = tuple[int | None, int | None]
_IDENTICAL, _ALIKE = 3, 2  # two steps that are alike, and apart, outweigh one that is identical


@dataclass(frozen=True, slots=True)
class Alignment:
    """Pairs of positions, None where the other has none; ``left`` the steps of each that were not compared."""

    pairs: tuple[Pair, ...]
    left: tuple[int, int]


def align(
    one: Sequence[Hashable], other: Sequence[Hashable], is_same: Callable[[int, int], bool]
) -> Alignment:
    """Lay two sequences of keys side by side. Equal keys may meet; ``is_same`` tells whether two are identical too."""

    def matches(left: int, right: int) -> bool:
        return one[left] == other[right] and is_same(left, right)

    begin, end = _common(len(one), len(other), 0, matches)
    if max(len(one), len(other)) - begin - end > COMPARED_STEPS:
        more = _common(len(one) - end, len(other) - end, begin, lambda left, right: one[left] == other[right])
        begin, end = begin + more[0], end + more[1]
    lengths = (len(one) - begin - end, len(other) - begin - end)
    taken = (min(lengths[0], COMPARED_STEPS), min(lengths[1], COMPARED_STEPS))
    middle = _middle(taken, lambda left, right: _score(one, other, begin + left, begin + right, is_same))
    pairs: list[Pair] = [(each, each) for each in range(begin)]
    pairs += [(_moved(left, begin), _moved(right, begin)) for left, right in middle]
    pairs += [(len(one) - each, len(other) - each) for each in range(end, 0, -1)]
    return Alignment(tuple(pairs), (lengths[0] - taken[0], lengths[1] - taken[1]))


def _common(one: int, other: int, begin: int, matches: Callable[[int, int], bool]) -> tuple[int, int]:
    """How many of the first steps, from ``begin`` on, and of the last ones are common."""
    shorter = min(one, other) - begin
    first = 0
    while first < shorter and matches(begin + first, begin + first):
        first += 1
    last = 0
    while last < shorter - first and matches(one - 1 - last, other - 1 - last):
        last += 1
    return first, last


def _score(
    one: Sequence[Hashable],
    other: Sequence[Hashable],
    left: int,
    right: int,
    is_same: Callable[[int, int], bool],
) -> int:
    if one[left] != other[right]:
        return 0
    return _IDENTICAL if is_same(left, right) else _ALIKE


def _middle(lengths: tuple[int, int], score: Callable[[int, int], int]) -> list[Pair]:
    """The heaviest alignment: each cell of the table is what can still be gained from there on."""
    rows, columns = lengths
    scores = [[score(left, right) for right in range(columns)] for left in range(rows)]
    gains = [[0] * (columns + 1) for _ in range(rows + 1)]
    for left in range(rows - 1, -1, -1):
        row, below, met = gains[left], gains[left + 1], scores[left]
        for right in range(columns - 1, -1, -1):
            skipped = max(row[right + 1], below[right])
            row[right] = max(skipped, below[right + 1] + met[right]) if met[right] else skipped
    return _walked(scores, gains)


def _walked(scores: list[list[int]], gains: list[list[int]]) -> list[Pair]:
    rows, columns = len(scores), len(gains[0]) - 1
    left = right = 0
    found: list[Pair] = []
    while left < rows and right < columns:
        if scores[left][right] and gains[left][right] == gains[left + 1][right + 1] + scores[left][right]:
            found.append((left, right))
            left, right = left + 1, right + 1
        elif gains[left][right] == gains[left + 1][right]:
            found.append((left, None))
            left += 1
        else:
            found.append((None, right))
            right += 1
    found += [(each, None) for each in range(left, rows)]
    found += [(None, each) for each in range(right, columns)]
    return found


def _moved(position: int | None, by: int) -> int | None:
    return None if position is None else position + by
