"""A changed line in spans: what stayed, what changed, and marks for what no eye would see."""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from capture.limits import DIFF_LINE_EDITS, DIFF_STRETCH
from viewer.why.edits import Stretch, stretches
from viewer.why.shared import shared_prefix, shared_suffix

NO_END: Final = "no line end"
_SHORTEST_KEPT: Final = 3  # characters: a shorter match between two changes is a coincidence
_LEAST_ALIKE: Final = 4  # one character in so many: lines with less in common are other lines
_ONLY_BLANKS: Final = re.compile(r"[ \t]+")
_ODD: Final = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")  # blanks that pass for others


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a line. ``mark`` is a word of ours beside recorded ``text``, for what cannot be seen."""

    text: str
    is_changed: bool = False
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """One line as text: without its line end, and whether its bytes were UTF-8."""

    text: str
    has_end: bool
    is_utf8: bool


def read_line(line: bytes) -> Text:
    """A line's bytes as text; what is not UTF-8 shows as ``\\xff``, and is said to be so."""
    bare = line.removesuffix(b"\n")
    try:
        return Text(bare.decode("utf-8", "surrogatepass"), bare != line, True)
    except UnicodeDecodeError:
        return Text(bare.decode("utf-8", "backslashreplace"), bare != line, False)


def whole_line(line: bytes) -> tuple[Span, ...]:
    """A line that stayed, or that has nothing in common with another."""
    return tuple(_shortened(Span(read_line(line).text)))


def changed_alone(line: bytes) -> tuple[Span, ...]:
    """A line that was added or removed as it is, with its blanks at the end marked."""
    read = read_line(line)
    return _finished(read, [Span(read.text, True)])


def changed_pair(before: bytes, after: bytes) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Two versions of one line, character by character; apart where they have too little in common."""
    old, new = read_line(before), read_line(after)
    found = _compared(old.text, new.text)
    kept = sum(each.end - each.start for each in found if each.is_same)
    if kept * _LEAST_ALIKE < max(len(old.text), len(new.text)):
        return changed_alone(before), changed_alone(after)
    was = [Span(old.text[each.start : each.end], not each.is_same) for each in found]
    now = [Span(new.text[each.to_start : each.to_end], not each.is_same) for each in found]
    return _finished(old, was), _finished(new, now)


def core_size(before: bytes, after: bytes) -> int:
    """Bytes of the longer line between what both share at their ends: what comparing characters would cost."""
    prefix = shared_prefix(before, after)
    return max(len(before), len(after)) - prefix - shared_suffix(before, after, beyond=prefix)


def _compared(old: str, new: str) -> list[Stretch]:
    prefix = shared_prefix(old, new)
    suffix = shared_suffix(old, new, beyond=prefix)
    core = stretches(old[prefix : len(old) - suffix], new[prefix : len(new) - suffix], most=DIFF_LINE_EDITS)
    moved = [
        replace(
            each,
            start=each.start + prefix,
            end=each.end + prefix,
            to_start=each.to_start + prefix,
            to_end=each.to_end + prefix,
        )
        for each in core
    ]
    head = [Stretch(True, 0, prefix, 0, prefix)]
    tail = [Stretch(True, len(old) - suffix, len(old), len(new) - suffix, len(new))]
    return list(_calmed([*head, *moved, *tail]))


def _calmed(found: list[Stretch]) -> Iterator[Stretch]:
    """Kept stretches of a letter or two between changes become part of the change."""
    last = len(found) - 1

    def stays(place: int, each: Stretch) -> bool:
        return each.is_same and (place in (0, last) or each.end - each.start >= _SHORTEST_KEPT)

    for is_same, group in itertools.groupby(enumerate(found), key=lambda pair: stays(*pair)):
        parts = [each for _, each in group]
        joined = Stretch(is_same, parts[0].start, parts[-1].end, parts[0].to_start, parts[-1].to_end)
        if joined.end > joined.start or joined.to_end > joined.to_start:
            yield joined


def _finished(line: Text, spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans with blanks by name where they are what changed, shortened, and what else cannot be seen."""
    shown = [part for span in _end_named(list(spans)) for part in _odd_named(span)]
    shown = [part for span in shown for part in _shortened(span)]
    if not line.has_end:
        shown.append(Span("", mark=NO_END))
    if not line.is_utf8:
        shown.append(Span("", mark="not UTF-8"))
    return tuple(shown)


def _end_named(spans: list[Span]) -> list[Span]:
    """Blanks at the end of the line by name: a page shows nothing there."""
    names: list[Span] = []
    while spans:
        last = spans[-1]
        bare = last.text.rstrip(" \t")
        names = [*_names(last.text[len(bare) :], last.is_changed), *names]
        if bare:
            return [*spans[:-1], replace(last, text=bare), *names]
        spans = spans[:-1]
    return names


def _odd_named(span: Span) -> Iterator[Span]:
    """A change of nothing but blanks by name, and blanks that look like others."""
    if not span.is_changed or span.mark:
        yield span
        return
    end = 0
    odd = _ODD if span.text.strip(" \t") else _ONLY_BLANKS
    for match in odd.finditer(span.text):
        if match.start() > end:
            yield Span(span.text[end : match.start()], True)
        yield from _names(match[0], True)
        end = match.end()
    if span.text[end:]:
        yield Span(span.text[end:], True)


def _names(blanks: str, is_changed: bool) -> Iterator[Span]:
    for character, run in itertools.groupby(blanks):
        count = len(list(run))
        times = f"{count:,} × " if count > 1 else ""
        yield Span("", is_changed, f"{times}U+{ord(character):04X}")


def _shortened(span: Span) -> Iterator[Span]:
    """A long stretch by its two ends, with the number of characters between them."""
    left_out = len(span.text) - DIFF_STRETCH
    if left_out <= 0:
        yield span
        return
    half = DIFF_STRETCH // 2
    yield replace(span, text=span.text[:half])
    yield Span("", span.is_changed, f"… {left_out:,} characters …")
    yield replace(span, text=span.text[-half:])
