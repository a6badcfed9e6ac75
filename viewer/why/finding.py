"""Where a prompt has a text or a number. Offsets are bytes of the whole prompt; work is bounded per search."""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from capture_sdk.freeze import jsonable
from capture_sdk.prompt import text_bytes

How = Literal["verbatim", "folded", "json"]

_CANDIDATES: Final = (
    20_000  # places where it may stand before one is found: more only in a text made for that
)
_WORD: Final = re.compile(rb"[0-9A-Za-z_]")
_GROUPED: Final = re.compile(rb"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NEAR: Final = 40  # bytes around a number that may belong to it


class TooOften(Exception):
    """Parts of other words look like the value in so many places that the search was given up."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a prompt: bytes from its beginning, its length, and in what form; its line from 1.

    ``part`` is ``envelope`` or ``remainder``, ``part_offset`` the same place in it, and ``anchor`` the line's on that
    part's page: ``E12`` in the envelope, ``R3`` in the remainder.
    """

    offset: int
    length: int
    how: How
    line: int = 0
    part: str = ""
    part_offset: int = 0
    anchor: str = ""


class Prompt:
    """A whole prompt to search in. Every search raises TooOften rather than take long."""

    def __init__(self, whole: bytes) -> None:
        self._whole = whole

    def text(self, value: str) -> Place | None:
        """A text as it is, else with blanks and line ends folded, else as JSON writes it."""
        needle = text_bytes(value)
        at = self._first(needle, self._is_apart)
        if at >= 0:
            return Place(at, len(needle), "verbatim")
        spelled = [json.dumps(value, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True)]
        others = [text for text in spelled if text != value]
        return self._folded(needle.split()) or self._spelled(others, self._is_apart)

    def number(self, value: float) -> Place | None:
        """A number as a token of its own; ``1,250`` is 1250 and not 250."""
        forms = [str(value), f"{value:,}"]
        if isinstance(value, float) and value.is_integer():
            forms += [str(int(value)), f"{int(value):,}"]
        return self._spelled(forms, self._is_number)

    def json(self, value: object) -> Place | None:
        """A value as JSON text, in the spellings that programs write."""
        plain = jsonable(value)
        spellings = itertools.product((False, True), (None, (",", ":")))
        texts = [json.dumps(plain, ensure_ascii=ascii_, separators=marks) for ascii_, marks in spellings]
        return self._spelled(texts, lambda start, end: True)

    def lines(self, offsets: Iterable[int]) -> dict[int, int]:
        """The line, from 1, that each offset lies on; an offset may lie behind the end."""
        found: dict[int, int] = {}
        line, at = 1, 0
        for offset in sorted(set(offsets)):
            line += self._whole.count(b"\n", at, offset)
            at = offset
            found[offset] = line
        return found

    def _spelled(self, texts: Iterable[str], is_whole: Callable[[int, int], bool]) -> Place | None:
        for needle in dict.fromkeys(map(text_bytes, texts)):
            at = self._first(needle, is_whole)
            if at >= 0:
                return Place(at, len(needle), "json" if is_whole != self._is_number else "verbatim")
        return None

    def _first(self, needle: bytes, is_whole: Callable[[int, int], bool]) -> int:
        at = self._whole.find(needle)
        for _ in range(_CANDIDATES):
            if at < 0 or is_whole(at, at + len(needle)):
                return at
            at = self._whole.find(needle, at + 1)
        raise TooOften

    def _is_apart(self, start: int, end: int) -> bool:
        """Whether it is no part of a longer word."""
        edges = ((start, start - 1), (end - 1, end))
        return not any(self._is_word(inner) and self._is_word(outer) for inner, outer in edges)

    def _is_word(self, place: int) -> bool:
        return place >= 0 and _WORD.match(self._whole, place) is not None

    def _is_number(self, start: int, end: int) -> bool:
        if not self._is_apart(start, end):
            return False
        ahead = re.search(rb"[0-9.,]*$", self._whole[max(start - _NEAR, 0) : start])
        behind = re.match(rb"[0-9.,]*", self._whole[end : end + _NEAR])
        left, right = (found[0] if found is not None else b"" for found in (ahead, behind))
        if re.match(rb"\.\d", right) or re.search(rb"\d\.$", left):
            return False
        whole = (left + self._whole[start:end] + right).strip(b".,")
        is_grouped = whole != self._whole[start:end] and _GROUPED.fullmatch(whole)
        opens = start - len(left) - 1
        return not is_grouped or (opens >= 0 and self._whole[opens : opens + 1] in (b"[", b"("))

    @cached_property
    def _in_one_line(self) -> bytes:
        return b" ".join(self._whole.split())

    def _folded(self, words: list[bytes]) -> Place | None:
        """Found in the prompt's words, wherever its lines are broken."""
        hit = self._in_one_line.find(b" ".join(words)) if len(words) > 1 else -1
        if hit < 0:
            return None
        first = self._in_one_line.count(b" ", 0, hit)
        into = hit - self._in_one_line.rfind(b" ", 0, hit) - 1
        starts = [each.start() for each in self._words(first, first + len(words))]
        return Place(starts[0] + into, starts[-1] + len(words[-1]) - starts[0] - into, "folded")

    def _words(self, first: int, last: int) -> Iterator[re.Match[bytes]]:
        return itertools.islice(re.finditer(rb"\S+", self._whole), first, last)
