"""The shortest way from one sequence to another (Myers 1986), within a bound on the work.

``difflib`` finds nicer stretches and may take minutes over hostile texts; here ``most`` edits over sequences of
length n cost at most some ``most * n`` comparisons, whatever the texts are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

Reach = dict[int, int]


@dataclass(frozen=True, slots=True)
class Stretch:
    """``before[start:end]`` became ``after[to_start:to_end]``, or is the same as it."""

    is_same: bool
    start: int
    end: int
    to_start: int
    to_end: int


def stretches(before: Sequence[object], after: Sequence[object], *, most: int) -> list[Stretch]:
    """Both sequences from beginning to end. Where ``most`` edits do not do, all of it is one changed stretch."""
    runs = _runs(before, after, most)
    found: list[Stretch] = []
    at, to = 0, 0
    for start, to_start, length in [*runs, (len(before), len(after), 0)]:
        if start > at or to_start > to:
            found.append(Stretch(False, at, start, to, to_start))
        if length:
            found.append(Stretch(True, start, start + length, to_start, to_start + length))
        at, to = start + length, to_start + length
    return found


def _runs(before: Sequence[object], after: Sequence[object], most: int) -> list[tuple[int, int, int]]:
    """What is kept, as runs: where in the one, where in the other, how long."""
    runs: list[tuple[int, int, int]] = []
    for place, to in _kept(before, after, most):
        if runs and (place, to) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((place, to, 1))
    return runs


def _kept(before: Sequence[object], after: Sequence[object], most: int) -> list[tuple[int, int]]:
    """The pairs of places that stay, in order; none when the way is too long."""
    rounds = _rounds(before, after, most)
    kept: list[tuple[int, int]] = []
    x, y = len(before), len(after)
    for edits in reversed(range(len(rounds))):
        came_from = _came_from(rounds[edits], x - y, edits)
        start = rounds[edits][came_from]
        while x > start and y > start - came_from:
            x, y = x - 1, y - 1
            kept.append((x, y))
        x, y = start, start - came_from
    return kept[::-1]


def _rounds(before: Sequence[object], after: Sequence[object], most: int) -> list[Reach]:
    """How far each diagonal was reached before each number of edits; nothing when ``most`` do not do."""
    reach: Reach = {1: 0}
    rounds = []
    for edits in range(min(most, len(before) + len(after)) + 1):
        rounds.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            came_from = _came_from(reach, diagonal, edits)
            x = reach[came_from] + (came_from < diagonal)
            while x < len(before) and x - diagonal < len(after) and before[x] == after[x - diagonal]:
                x += 1
            reach[diagonal] = x
            if x >= len(before) and x - diagonal >= len(after):
                return rounds
    return []


def _came_from(reach: Reach, diagonal: int, edits: int) -> int:
    """The neighbour from which a diagonal is reached farther: below it by an addition, above it by a removal."""
    is_added = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
    return diagonal + 1 if is_added else diagonal - 1
