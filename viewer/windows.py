"""A long text, a window at a time: the page's size does not grow with the text's, and all of it can be reached."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from capture.limits import WINDOW_BYTES, WINDOW_LINES
from viewer.finder import Finder
from viewer.visible import Piece, pieces

_LEAD: Final = 2_048  # bytes before a place that are shown with it, where its line begins within them
_AROUND: Final = 256  # bytes before what was looked for, in a longer line
Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it is shown, counted from 1; ``skipped`` bytes of it stand before the window."""

    number: int
    pieces: tuple[Piece, ...]
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """The bytes ``start`` to ``end`` of a text of ``size`` bytes and ``line_count`` lines.

    ``before`` and ``behind`` are where the neighbouring windows begin, ``last`` where the last one does; None where
    there is none. ``found`` counts what was looked for in the whole text, ``found_before`` and ``found_behind`` are
    where it stands outside the window next.
    """

    start: int
    end: int
    size: int
    lines: tuple[Line, ...]
    line_count: int
    before: int | None
    behind: int | None
    last: int | None
    found: int = 0
    found_before: int | None = None
    found_behind: int | None = None

    @property
    def is_part(self) -> bool:
        """Whether there is more than the window shows."""
        return self.end - self.start < self.size

    @property
    def found_lines(self) -> int:
        """In how many of its lines something is marked."""
        return sum(any(piece.is_found for piece in line.pieces) for line in self.lines)


def window(text: bytes, *, at: int | None = None, marked: int = 0, find: str = "") -> Window:
    """The window that shows the byte ``at``, with ``marked`` bytes from it on marked.

    Without a place it is the first in which ``find`` stands, else the first of all. ``find`` is marked throughout.
    """
    finder = Finder(text, find) if find else None
    place = at if at is not None else (finder.next(0) if finder else None) or 0
    start = _start(text, min(place, len(text)), lead=_AROUND if find or marked else 0)
    end = _end(text, start)
    spans = list(finder.spans(max(start - _LEAD, 0), end)) if finder else []
    if at is not None and marked:
        spans = sorted([*spans, (at, at + marked)])
    return Window(
        start=start,
        end=end,
        size=len(text),
        lines=tuple(_lines(text, start, end, spans)),
        line_count=text.count(b"\n") + 1,
        before=_before(text, start) if start else None,
        behind=end if end < len(text) else None,
        last=_before(text, len(text)) if end < len(text) else None,
        found=finder.count if finder else 0,
        found_before=finder.previous(start) if finder else None,
        found_behind=finder.next(end) if finder else None,
    )


def line_start(text: bytes, number: int) -> int:
    """Where a line begins, counted from 1; the last line where there are fewer."""
    start = 0
    for _ in range(number - 1):
        newline = text.find(b"\n", start)
        if newline < 0:
            break
        start = newline + 1
    return start


def whole_character(text: bytes, place: int) -> int:
    """The place itself, or the beginning of the next character when it lies within one."""
    for ahead in range(4):
        if place + ahead >= len(text) or text[place + ahead] & 0xC0 != 0x80:
            return min(place + ahead, len(text))
    return place


def _start(text: bytes, place: int, *, lead: int) -> int:
    """The beginning of the place's line, where that is near; in a long line the place, or ``lead`` bytes before it."""
    low = max(place - _LEAD, 0)
    newline = text.rfind(b"\n", low, place)
    if newline >= 0:
        return newline + 1
    return 0 if low == 0 else whole_character(text, place - lead)


def _end(text: bytes, start: int) -> int:
    """Behind the last line that fits, within a line where that is longer than half a window."""
    high = min(start + WINDOW_BYTES, len(text))
    if high < len(text):
        newline = text.rfind(b"\n", start + WINDOW_BYTES // 2, high)
        high = newline + 1 if newline >= 0 else whole_character(text, high)
    at = start
    for _ in range(WINDOW_LINES):
        at = text.find(b"\n", at, high) + 1
        if at == 0:
            return high
    return at


def _before(text: bytes, start: int) -> int:
    """Where the window begins that ends at ``start``, or overlaps it."""
    before = _reaching_back(text, start)
    end = _end(text, before)
    # A window ends with a line where it can; when ``start`` lies within a line, that end may be short of it.
    return before if end >= start else end


def _reaching_back(text: bytes, start: int) -> int:
    low = max(start - WINDOW_BYTES, 0)
    at = start - 1
    for _ in range(WINDOW_LINES):
        newline = text.rfind(b"\n", low, max(at, low))
        if newline < 0:
            break
        at = newline
    else:
        return at + 1
    if low == 0:
        return 0
    newline = text.find(b"\n", low, min(low + WINDOW_BYTES // 2, start - 1))
    return newline + 1 if newline >= 0 else whole_character(text, low)


def _lines(text: bytes, start: int, end: int, spans: Spans) -> Iterator[Line]:
    number = text.count(b"\n", 0, start) + 1
    skipped = start - (text.rfind(b"\n", 0, start) + 1)
    at = start
    while at < end or at == start:
        newline = text.find(b"\n", at, end)
        stop = end if newline < 0 else newline
        yield Line(number, tuple(_pieces(text, at, stop, spans)), skipped)
        number, at, skipped = number + 1, stop + 1, 0
        if newline < 0:
            return
    if at == len(text) and end == len(text):
        yield Line(number, ())


def _pieces(text: bytes, start: int, end: int, spans: Spans) -> Iterator[Piece]:
    at = start
    for low, high in _within(spans, start, end):
        if low > at:
            yield from pieces(text[at:low])
        for piece in pieces(text[max(low, at) : high]):
            yield Piece(piece.text, piece.name, is_found=True)
        at = max(high, at)
    if at < end:
        yield from pieces(text[at:end])


def _within(spans: Iterable[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    for low, high in spans:
        if low < end and high > start:
            yield max(low, start), min(high, end)
