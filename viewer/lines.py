"""A recorded text line by line, numbered, with what is looked for marked."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from viewer.present import Excerpt
from viewer.visible import Piece, pieces


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it is shown, counted from 1."""

    number: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Numbered:
    """A text in lines, and the numbers of those in which something was found."""

    lines: tuple[Line, ...]
    found: tuple[int, ...]


def numbered(text: str | bytes, wanted: str = "") -> Numbered:
    """Cut a text at its line feeds, and mark ``wanted`` wherever it stands within a line, in capitals or not."""
    shown = text if isinstance(text, str) else text.decode("utf-8", "backslashreplace")
    search = re.compile(re.escape(wanted), re.IGNORECASE) if wanted else None
    lines = tuple(
        Line(number, tuple(_marked(pieces(line), search)))
        for number, line in enumerate(shown.split("\n"), start=1)
    )
    return Numbered(
        lines, tuple(line.number for line in lines if any(piece.is_found for piece in line.pieces))
    )


def found_lines(texts: Iterable[Excerpt | None], wanted: str) -> int:
    """In how many lines of these texts it stands."""
    return sum(len(numbered(each.text, wanted).found) for each in texts if each is not None) if wanted else 0


def _marked(given: Iterator[Piece], search: re.Pattern[str] | None) -> Iterator[Piece]:
    for piece in given:
        if search is None or piece.name is not None:
            yield piece
            continue
        end = 0
        for match in search.finditer(piece.text):
            if match.start() > end:
                yield Piece(piece.text[end : match.start()])
            yield Piece(match[0], is_found=True)
            end = match.end()
        if end < len(piece.text):
            yield Piece(piece.text[end:])
