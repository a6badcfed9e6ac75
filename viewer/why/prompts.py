"""Two prompts side by side: where they part, byte for byte, and what changed between, line by line.

Only the part between the shared beginning and the shared end is worked on, and of that a bounded part: two prompts of
ten megabytes are compared as fast as two of ten lines.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from capture.limits import (
    DIFF_BYTES,
    DIFF_CHARACTERS,
    DIFF_EDITS,
    DIFF_LINES,
    DIFF_ROWS,
)
from viewer.why.edits import Stretch, stretches
from viewer.why.shared import shared_prefix, shared_suffix
from viewer.why.spans import NO_END, Span, changed_alone, changed_pair, core_size, whole_line

Kind = Literal["same", "removed", "added", "fold", "cut"]

_CONTEXT: Final = 3  # unchanged lines shown around a change
_AROUND: Final = 2_048  # bytes of them at most: a line may be a megabyte long


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One row of a comparison: a line, a fold of ``lines`` unchanged ones, or a word on what is cut.

    ``before`` and ``after`` are line numbers from 1, None where the line is not in that prompt.
    """

    kind: Kind
    spans: tuple[Span, ...] = ()
    before: int | None = None
    after: int | None = None
    lines: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class PromptDiff:
    """What two prompts share and what they do not; sizes in bytes. ``prefix`` and ``suffix`` never overlap."""

    before_size: int
    after_size: int
    prefix: int
    suffix: int
    rows: tuple[DiffRow, ...]

    @property
    def is_same(self) -> bool:
        """Whether they are the same to the last byte."""
        return self.before_size == self.after_size == self.prefix

    @property
    def sentence(self) -> str:
        """Where they part, where they meet again, and what lies between."""
        if self.is_same:
            return f"Both prompts are the same, to the last of {self.after_size:,} bytes."
        cache = "that is where a provider's prompt cache ends"
        first = f"The first {self.prefix:,} bytes are the same: {cache}."
        if not self.prefix:
            first = "They differ from the first byte on: a provider's prompt cache has nothing of them."
        removed, added = (size - self.prefix - self.suffix for size in (self.before_size, self.after_size))
        between = f"{removed:,} of {self.before_size:,} bytes became {added:,} of {self.after_size:,}"
        return f"{first} The last {self.suffix:,} are the same too; between them, {between}."


@dataclass(frozen=True, slots=True)
class _Window:
    """The lines of both prompts that are worked on, what stands before them, and what behind."""

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


def prompt_diff(before: bytes, after: bytes) -> PromptDiff:
    """Compare two whole prompts, byte for byte."""
    prefix = shared_prefix(before, after)
    suffix = shared_suffix(before, after, beyond=prefix)
    is_same = len(before) == len(after) == prefix
    rows = () if is_same else tuple(_rows(_window(before, after, prefix, suffix)))
    return PromptDiff(len(before), len(after), prefix, suffix, rows)


def _window(before: bytes, after: bytes, prefix: int, suffix: int) -> _Window:
    start = _back(before, prefix)
    kept = _onward(before, len(before) - suffix)
    left = suffix - kept
    parts = before[start : len(before) - left], after[start : len(after) - left]
    old, new = (_lines(part[:DIFF_BYTES])[:DIFF_LINES] for part in parts)
    return _Window(
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
    for step_back in (0, *[1] * _CONTEXT):  # to the beginning of this line first, then line by line
        newline = text.rfind(b"\n", low, max(start - step_back, low))
        if newline < 0:
            return _whole_character(text, low)
        start = newline + 1
    return start


def _onward(text: bytes, start: int) -> int:
    """How many bytes the rest of the line at ``start`` and the few lines behind it have."""
    high = min(start + _AROUND, len(text))
    end = start
    for _ in range(_CONTEXT + 1):
        newline = text.find(b"\n", end, high)
        if newline < 0:
            return _whole_character(text, high) - start if high < len(text) else high - start
        end = newline + 1
    return end - start


def _whole_character(text: bytes, place: int) -> int:
    """The place itself, or the beginning of the next character when it lies within one."""
    for ahead in range(4):
        if place + ahead >= len(text) or text[place + ahead] & 0xC0 != 0x80:
            return min(place + ahead, len(text))
    return place


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


def _rows(window: _Window) -> Iterator[DiffRow]:
    if window.left_before:
        yield _fold(window.first_line - 1, window.left_before)
    shown = list(_changes(window))
    if window.is_open:
        shown = [
            replace(row, spans=tuple(span for span in row.spans if span.mark != NO_END)) for row in shown
        ]
    yield from shown[:DIFF_ROWS]
    if len(shown) > DIFF_ROWS:
        yield DiffRow("cut", note=f"{len(shown) - DIFF_ROWS:,} more rows of {len(shown):,} are not shown.")
    if window.cut:
        yield DiffRow("cut", note=window.cut)
    if window.left_behind:
        yield _fold(window.lines_behind, window.left_behind)


def _changes(window: _Window) -> Iterator[DiffRow]:
    budget = DIFF_CHARACTERS
    first = window.first_line
    for each in stretches(window.before, window.after, most=DIFF_EDITS):
        old, new = window.before[each.start : each.end], window.after[each.to_start : each.to_end]
        if each.is_same:
            yield from _unchanged(old, each, first)
            continue
        was, now, budget = _compared(old, new, budget)
        yield from (
            DiffRow("removed", spans, before=first + each.start + place) for place, spans in enumerate(was)
        )
        yield from (
            DiffRow("added", spans, after=first + each.to_start + place) for place, spans in enumerate(now)
        )


def _compared(
    old: list[bytes], new: list[bytes], budget: int
) -> tuple[list[tuple[Span, ...]], list[tuple[Span, ...]], int]:
    """The spans of lines that took each other's place, in pairs as long as the budget lasts; and what is left of it."""
    was, now = [], []
    for before, after in zip(old, new, strict=False):
        cost = core_size(before, after)
        if cost > budget:
            break
        budget -= cost
        one, other = changed_pair(before, after)
        was.append(one)
        now.append(other)
    was += [changed_alone(line) for line in old[len(was) :]]
    now += [changed_alone(line) for line in new[len(now) :]]
    return was, now, budget


def _unchanged(lines: list[bytes], where: Stretch, first: int) -> Iterator[DiffRow]:
    """Unchanged lines: a few at each end, and a fold between them."""
    is_long = len(lines) > 2 * _CONTEXT + 1
    for place, line in enumerate(lines):
        if is_long and place == _CONTEXT:
            yield _fold(len(lines) - 2 * _CONTEXT, sum(map(len, lines[_CONTEXT:-_CONTEXT])))
        if not (is_long and _CONTEXT <= place < len(lines) - _CONTEXT):
            before, after = first + where.start + place, first + where.to_start + place
            yield DiffRow("same", whole_line(line), before, after)


def _fold(lines: int, size: int) -> DiffRow:
    return DiffRow("fold", lines=lines, note=f"{size:,} bytes")
