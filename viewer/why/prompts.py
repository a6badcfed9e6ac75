"""Two prompts side by side: where they part, byte for byte, and what changed between, line by line.

Only the part between the shared beginning and the shared end is worked on, and of that a bounded part: two prompts of
ten megabytes are compared as fast as two of ten lines.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from capture.limits import DIFF_CHARACTERS, DIFF_EDITS, DIFF_ROWS
from viewer.why.edits import Stretch, stretches
from viewer.why.shared import shared_prefix, shared_suffix
from viewer.why.spans import NO_END, Span, changed_alone, changed_pair, core_size, whole_line
from viewer.why.window import CONTEXT, Window, window_of

Kind = Literal["same", "removed", "added", "fold", "cut"]


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


def prompt_diff(before: bytes, after: bytes) -> PromptDiff:
    """Compare two whole prompts, byte for byte."""
    prefix = shared_prefix(before, after)
    suffix = shared_suffix(before, after, beyond=prefix)
    is_same = len(before) == len(after) == prefix
    rows = () if is_same else tuple(_rows(window_of(before, after, prefix, suffix)))
    return PromptDiff(len(before), len(after), prefix, suffix, rows)


def _rows(window: Window) -> Iterator[DiffRow]:
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


def _changes(window: Window) -> Iterator[DiffRow]:
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
    is_long = len(lines) > 2 * CONTEXT + 1
    for place, line in enumerate(lines):
        if is_long and place == CONTEXT:
            yield _fold(len(lines) - 2 * CONTEXT, sum(map(len, lines[CONTEXT:-CONTEXT])))
        if not (is_long and CONTEXT <= place < len(lines) - CONTEXT):
            before, after = first + where.start + place, first + where.to_start + place
            yield DiffRow("same", whole_line(line), before, after)


def _fold(lines: int, size: int) -> DiffRow:
    return DiffRow("fold", lines=lines, note=f"{size:,} bytes")
