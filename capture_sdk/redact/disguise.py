"""Look-alike and invisible characters, seen through: ``fold`` reads a text as a person would.

The text itself is never changed. What is found in the folded text is marked in the original, by its place.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Final

# Soft hyphen, joiners, zero-width, direction marks, variation selectors, BOM, tags, combining accents.
_INVISIBLE: Final = (
    "\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef"
)
_ESCAPE: Final = r"\\+u[0-9a-fA-F]{4}"
# Letters of other alphabets that look like ASCII ones; a choice from Unicode's confusables (UTS 39).
_LOOKALIKES: Final = dict(
    zip(
        "аеорсухіјѕһԁԛԝвкмнтАВЕКМНОРСТУХІЈЅ" + "αεικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ıɡ∣‐‑‒–—−⁃＿·",
        "aeopcyxijshdqwbkmhtABEKMHOPCTYXIJS" + "aeiknoptuxABEZHIKMNOPTYX" + "igl-------_.",
        strict=True,
    )
)
# Where compatibility forms live: long s, superscripts, letter-like, enclosed, full width, mathematical.
_COMPATIBLE: Final = (
    (0x00A0, 0x00BF),
    (0x017F, 0x017F),
    (0x2000, 0x209F),
    (0x2100, 0x214F),
    (0x2460, 0x24FF),
    (0x3000, 0x3000),
    (0xFF00, 0xFFEF),
    (0x1D400, 0x1D7FF),
    (0x1F100, 0x1F1FF),
)
_HIDDEN: Final = re.compile(f"[{_INVISIBLE}]+|({_ESCAPE})")
# With none of these a text is what it seems. Quotation marks, ellipsis and em dash are what writers use.
_SUSPICIOUS: Final = re.compile(
    f"[{_INVISIBLE}\u00a0\u00aa\u00b2\u00b3\u00b7\u00b9\u00ba\u017f\u0131\u0261\u0370-\u052f\u2000-\u2013\u2015"
    f"\u2024\u202f\u2043\u205f\u2070-\u209f\u2100-\u214f\u2212\u2223\u2460-\u24ff"
    f"\u3000\uff00-\uffef\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff]|{_ESCAPE}"
)


def is_disguised(foreign: bytes) -> bool:
    """Whether any of these characters (UTF-8, nothing ASCII among them) is not what it seems."""
    return _SUSPICIOUS.search(foreign.decode("utf-8", "surrogatepass")) is not None


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text, and where each of its characters stands in the original (None: at the same place)."""

    text: str
    places: list[int] | None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the original of what stands at ``start:end`` here."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end]


def fold(text: str) -> Folded:
    """Read ``text`` without its disguise: compatibility forms and look-alikes as ASCII, invisibles left out."""
    if (text.isascii() and "\\u" not in text) or not _SUSPICIOUS.search(text):
        return Folded(text, None)
    if not _HIDDEN.search(text):
        return Folded(text.translate(_table()), None)
    folded: list[str] = []
    places: list[int] = []
    place = 0
    for match in _HIDDEN.finditer(text):
        folded.append(text[place : match.start()])
        places.extend(range(place, match.start()))
        if match[1] is not None:
            folded.append(chr(int(match[1][-4:], 16)))
            places.append(match.start())
        place = match.end()
    folded.append(text[place:])
    places.extend(range(place, len(text) + 1))
    return Folded("".join(folded).translate(_table()), places)


@cache
def _table() -> dict[int, str]:
    """Every character that stands for one ASCII character, with it: lengths stay."""
    table = {ord(character): plain for character, plain in _LOOKALIKES.items()}
    for first, last in _COMPATIBLE:
        for code in range(first, last + 1):
            plain = unicodedata.normalize("NFKC", chr(code))
            if len(plain) == 1 and plain.isascii():
                table.setdefault(code, plain)
    return table
