"""A cheap look before the search: what kinds of secret a text can hold at all.

Most texts hold none, and trying every pattern on them would cost more than everything else done to a turn. The
look cuts a text into words, as bytes and at C speed, and remembers what it has found out about each word. It may
be wrong in one direction only: it may ask for a search that finds nothing.
"""

from typing import Final

from capture_sdk.redact.disguise import is_disguised
from capture_sdk.redact.names import has_secret_phrase, is_secret_name
from capture_sdk.redact.patterns import KEY_LOOKS, KEY_WORDS, SHORTEST_KEY, Look

_DIGITS: Final = 9
_WORDS_KEPT: Final = 50_000
_LONGEST_KEPT: Final = 64
# Token characters stay, whatever else is ASCII becomes a blank; the letters of other alphabets stay too.
_TOKENS: Final = bytes(
    code if code >= 128 or chr(code).isalnum() or chr(code) in "_-" else 32 for code in range(256)
)
_NUMBERS: Final = bytes(48 if 48 <= code <= 57 else code for code in range(256))
_SEPARATORS: Final = b" -.()/+"
_ASCII: Final = bytes(range(128))
_SCHEMES: Final = (b"bearer", b"basic")
_COMMANDS: Final = (b"curl", b"wget", b"hooks", b"webhooks")


def looks(text: str) -> frozenset[Look]:
    """Which kinds of secret can stand in ``text``; all of them where it is disguised."""
    raw = text.encode("utf-8", "surrogatepass")
    if (not text.isascii() and is_disguised(raw.translate(None, _ASCII))) or b"\\u" in raw:
        return _ALL
    found = set()
    if b"@" in raw:
        found.add(Look.ADDRESSES)
    if b"0" * _DIGITS in raw.translate(_NUMBERS, _SEPARATORS):
        found.add(Look.NUMBERS)
    words = set(raw.translate(_TOKENS).split())
    for word in words - _innocent:
        found |= _kinds_of(word)
    if Look.NAMES not in found and has_secret_phrase(words, raw):
        found.add(Look.NAMES)
    return frozenset(found) if found else _NONE


def _kinds_of(word: bytes) -> set[Look]:
    """Find out about a word; an innocent one is remembered, for most words come again."""
    lower = word.lower()
    found = set()
    if word in KEY_WORDS or b"-----begin" in lower or (len(word) >= SHORTEST_KEY and _is_like_a_key(word)):
        found.add(Look.KEYS)
    if lower in _SCHEMES or is_secret_name(word.decode("utf-8", "replace")):
        found.add(Look.NAMES)
    if lower in _COMMANDS:
        found.add(Look.COMMANDS)
    if not found and len(word) <= _LONGEST_KEPT:
        if len(_innocent) >= _WORDS_KEPT:
            _innocent.clear()
        _innocent.add(word)
    return found


def _is_like_a_key(word: bytes) -> bool:
    """A known prefix, or the length and the start of those keys that have no more of one."""
    if any(look in word for look in KEY_LOOKS):
        return True
    return len(word) >= 24 and word[:1] in (b"M", b"N", b"O", b"S", b"A")


_NONE: Final[frozenset[Look]] = frozenset()
_ALL: Final = frozenset(Look)
_innocent: set[bytes] = set()
