"""Recorded text made visible: what would hide, reorder or vanish on a page is shown by its code point.

Only the showing changes. Copies and downloads take the recorded bytes.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Control characters but newline and tab, direction and zero-width marks, fillers, variation selectors,
# half surrogates, and the tag characters: whatever has no width of its own, or moves its neighbours.
_INVISIBLE: Final = re.compile(
    "([\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff])\\1*"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of plain text, or one mark with the name of the character it stands for."""

    text: str
    name: str | None = None
    is_found: bool = False  # whether it is what a reader looks for


def pieces(text: str | bytes) -> Iterator[Piece]:
    """Cut a text at its invisible characters. Bytes that are not UTF-8 show as ``\\xff``."""
    shown = text if isinstance(text, str) else _decoded(text)
    end = 0
    for match in _INVISIBLE.finditer(shown):
        if match.start() > end:
            yield Piece(shown[end : match.start()])
        yield _mark(match[0])
        end = match.end()
    if end < len(shown):
        yield Piece(shown[end:])


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace")


def _mark(run: str) -> Piece:
    """One mark for a run of the same character, with their number where they are several."""
    code = f"U+{ord(run[0]):04X}"
    times = f" ×{len(run):,}" if len(run) > 1 else ""
    return Piece(f"{code}{times}", f"{code} {unicodedata.name(run[0], 'control character')}{times}")


def plain(text: str | bytes) -> str:
    """The same in one line of plain text, for names and hints: ⟨U+202E⟩ stands for the character."""
    return "".join(piece.text if piece.name is None else f"⟨{piece.text}⟩" for piece in pieces(text))
