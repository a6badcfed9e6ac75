"""How far two texts are the same from their beginnings, and from their ends. Ten megabytes take milliseconds."""

from collections.abc import Callable
from typing import AnyStr, Final

_STEP: Final = 65_536  # a slice is compared at the speed of memory


def shared_prefix(one: AnyStr, other: AnyStr) -> int:
    """How many bytes or characters the two have in common at the beginning."""
    return _shared(min(len(one), len(other)), lambda low, high: one[low:high] == other[low:high])


def shared_suffix(one: AnyStr, other: AnyStr, *, beyond: int = 0) -> int:
    """How many they have in common at the end, none of them among the first ``beyond``."""

    def is_same(low: int, high: int) -> bool:
        return one[len(one) - high : len(one) - low] == other[len(other) - high : len(other) - low]

    return _shared(min(len(one), len(other)) - beyond, is_same)


def _shared(most: int, is_same: Callable[[int, int], bool]) -> int:
    """The longest reach, at most ``most``, below which every stretch is the same."""
    low = 0
    while low < most and is_same(low, min(low + _STEP, most)):
        low = min(low + _STEP, most)
    high = min(low + _STEP, most)
    while low < high:
        middle = (low + high + 1) // 2
        if is_same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low
