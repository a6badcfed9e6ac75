"""The part of two prompts that is worked on: from a few lines before the first difference to a few behind the last."""

from dataclasses import dataclass
from typing import Final

from capture.limits import DIFF_BYTES, DIFF_LINES
from viewer.windows import whole_character

CONTEXT: Final = 3  # unchanged lines shown around a change
_AROUND: Final = 2_048  # bytes of them at most: a line may be a megabyte long


@dataclass(frozen=True, slots=True)
class Window:
    """The lines of both prompts, from which line on, and how much is left out before and behind.

    ``left_before`` and ``left_behind`` count bytes; ``cut`` says what was too much to compare, empty where nothing was.
    """

    before: list[bytes]
    after: list[bytes]
    first_line: int
    left_before: int
    lines_behind: int
    left_behind: int
    cut: str

    @property
    def is_open(self) -> bool:
        """Whether the last line goes on behind the window: what ends there is no end of a line."""
        return bool(self.cut or self.left_behind)


def window_of(before: bytes, after: bytes, prefix: int, suffix: int) -> Window:
    """The window of two prompts that share ``prefix`` and ``suffix`` bytes."""
    start = _back(before, prefix)
    kept = _onward(before, len(before) - suffix)
    left = suffix - kept
    parts = before[start : len(before) - left], after[start : len(after) - left]
    old, new = (_lines(part[:DIFF_BYTES])[:DIFF_LINES] for part in parts)
    return Window(
        before=old,
        after=new,
        first_line=before.count(b"\n", 0, start) + 1,
        left_before=start,
        lines_behind=before.count(b"\n", len(before) - left),
        left_behind=left,
        cut=_cut(parts, (old, new)),
    )


def _back(text: bytes, end: int) -> int:
    """Where the few lines before ``end`` begin; in the middle of a line that is long."""
    low = max(end - _AROUND, 0)
    start = end
    for step_back in (0, *[1] * CONTEXT):  # to the beginning of this line first, then line by line
        newline = text.rfind(b"\n", low, max(start - step_back, low))
        if newline < 0:
            return whole_character(text, low)
        start = newline + 1
    return start


def _onward(text: bytes, start: int) -> int:
    """How many bytes the rest of the line at ``start`` and the few lines behind it have."""
    high = min(start + _AROUND, len(text))
    end = start
    for _ in range(CONTEXT + 1):
        newline = text.find(b"\n", end, high)
        if newline < 0:
            return whole_character(text, high) - start if high < len(text) else high - start
        end = newline + 1
    return end - start


def _lines(text: bytes) -> list[bytes]:
    """Cut behind each newline and nowhere else: a carriage return is a character like any other."""
    *ended, last = text.split(b"\n")
    return [line + b"\n" for line in ended] + ([last] if last else [])


def _cut(parts: tuple[bytes, bytes], kept: tuple[list[bytes], list[bytes]]) -> str:
    shown = [sum(map(len, lines)) for lines in kept]
    if all(size == len(part) for size, part in zip(shown, parts, strict=True)):
        return ""
    sizes = [f"{size:,} of {len(part):,}" for size, part in zip(shown, parts, strict=True)]
    return f"Compared line by line: {sizes[0]} bytes before, {sizes[1]} bytes after."
