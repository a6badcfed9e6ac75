"""A place in a prompt with what stands around it: where a link from a known value leads."""

from dataclasses import dataclass
from typing import Final

_AROUND: Final = 400  # bytes before and behind


@dataclass(frozen=True, slots=True)
class Around:
    """Some bytes at an offset, what stands before and behind them, and their line from 1."""

    offset: int
    line: int
    before: bytes
    found: bytes
    behind: bytes


def around(prompt: bytes, offset: int, length: int) -> Around | None:
    """What stands at ``offset``, of ``length`` bytes; None where the prompt ends before it."""
    if not 0 <= offset < len(prompt):
        return None
    end = min(offset + max(length, 1), len(prompt))
    start, stop = (
        _boundary(prompt, max(offset - _AROUND, 0)),
        _boundary(prompt, min(end + _AROUND, len(prompt))),
    )
    line = prompt.count(b"\n", 0, offset) + 1
    return Around(offset, line, prompt[start:offset], prompt[offset:end], prompt[end:stop])


def _boundary(prompt: bytes, place: int) -> int:
    """The beginning of the next character, where the place lies within one."""
    for ahead in range(4):
        if place + ahead >= len(prompt) or prompt[place + ahead] & 0xC0 != 0x80:
            return min(place + ahead, len(prompt))
    return place
