"""One text: where its secrets are, and the same text with marks in their place. Nothing else of it changes.

Long texts are searched in windows, so that no single call holds the interpreter for long. Work grows
with the text's length and no faster.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from capture_sdk.redact.disguise import Folded, fold
from capture_sdk.redact.looks import looks
from capture_sdk.redact.marks import MARK
from capture_sdk.redact.names import is_secret_name
from capture_sdk.redact.patterns import PATTERNS, Look, Pattern

_WINDOW: Final = 65_536  # characters; a few milliseconds for the slowest pattern
_OVERLAP: Final = 4_096  # what stands across the border of two windows is found in the first


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """One secret: its place in the text, the rule that found it, and what to put around its mark."""

    start: int
    end: int
    rule: str
    quote: str = ""
    look: Look = field(default=Look.NAMES, compare=False)


def spans(
    text: str, known: Iterable[str] = (), *, kinds: frozenset[Look] | None = None, only_joining: bool = False
) -> list[Span]:
    """Where the secrets of ``text`` stand, in order, without overlaps.

    ``known`` are values that are secret wherever they occur. ``kinds`` are those it can hold (see ``looks``);
    ``only_joining`` searches for those alone that may arrive in pieces.
    """
    kinds = looks(text) if kinds is None else kinds
    known = [value for value in known if value in text]
    if not kinds and not known:
        return []
    folded = fold(text)
    marks = [match.span() for match in MARK.finditer(text)] if "[" in text else []
    found: list[Span] = []
    for pattern in PATTERNS:
        if pattern.look in kinds and (pattern.joins or not only_joining):
            found += _matches(pattern, folded.text)
    if Look.NAMES in kinds and not only_joining:
        found += _assignments(folded.text)
    placed = [_unfolded(each, folded) for each in found]
    for value in known:
        placed += _occurrences(value, text)
    return _disjoint(placed, marks)


def _unfolded(span: Span, folded: Folded) -> Span:
    start, end = folded.span(span.start, span.end)
    return replace(span, start=start, end=end)


def _matches(pattern: Pattern, text: str) -> Iterator[Span]:
    if pattern.looks and not any(look in text for look in pattern.looks):
        return
    for start in range(0, len(text), _WINDOW):
        last = min(len(text), start + _WINDOW)
        for match in pattern.regex.finditer(text, start, min(len(text), last + _OVERLAP)):
            if match.start() >= last:
                break  # the next window's
            if match.end() == last + _OVERLAP:
                yield from _found(pattern, pattern.regex.match(text, match.start()))  # to its own end
            else:
                yield from _found(pattern, match)


def _found(pattern: Pattern, match: re.Match[str] | None) -> Iterator[Span]:
    if match is None:
        return
    secret = match[pattern.group]
    if pattern.within is not None:
        for first, end in pattern.within(secret):
            yield Span(match.start() + first, match.start() + end, pattern.name, look=pattern.look)
    elif pattern.check(secret) and not _is_reference(secret):
        yield Span(*match.span(pattern.group), pattern.name, look=pattern.look)


def _occurrences(value: str, text: str) -> Iterator[Span]:
    place = text.find(value)
    while place >= 0:
        yield Span(place, place + len(value), "known-secret")
        place = text.find(value, place + len(value))


def _disjoint(found: list[Span], marks: list[tuple[int, int]]) -> list[Span]:
    """In order; of two that overlap the earlier, stretched over both; what touches a mark is left to the mark."""
    merged: list[Span] = []
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
        if any(start < span.end and span.start < end for start, end in marks):
            continue
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            if span.end > last.end:
                merged[-1] = replace(last, end=span.end)
        elif span.end > span.start:
            merged.append(span)
    return merged


# Names and values within text: JSON (escaped once or more), Python reprs, environments, headers, query strings.

_WORD: Final = re.compile(
    r"token|passw|passphrase|passcode|pwd|secret|authoriz|authent|cookie|credential|api.?key|jwt|bearer|session"
    r"|otp|cvv|cvc|ssn|key|sig|kennwort|passwort|motdepasse|contrase|pin.?code|security.?code"
)
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_NAME_BEFORE: Final = re.compile(r"[\w.-]{0,64}\Z")
_NAME_AFTER: Final = re.compile(r"[\w-]{0,64}")
# Between a name and its value: a closing quote (escaped or not), a bracket, and : or = in their forms.
_BETWEEN: Final = re.compile(r"(\\*[\"'])?\]?[ \t]{0,8}(?:=>|===?|:=|[:=])[ \t]{0,8}")
_PROSE: Final = re.compile(r"[ \t]+(?:value|is|was)[ \t:]+([^\s\"'<>]{4,128})", re.IGNORECASE)
_QUOTED: Final = re.compile(r"(\\*)([\"'`])")
_BARE: Final = re.compile(r"[^\s\"'`,;&<>()\[\]{}\\|]{1,4096}")
_TO_LINE_END: Final = re.compile(r"[^\r\n\"'\\]{1,4096}")
_SCHEME: Final = re.compile(r"(?:Basic|Bearer|Token|ApiKey|Digest|AWS4-HMAC-SHA256)[ \t]+", re.IGNORECASE)
_SCHEME_ALONE: Final = re.compile(r"\b(?:Bearer|Basic)[ \t]+([A-Za-z0-9+/._~=-]{12,4096})", re.IGNORECASE)
_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
_CLOSING: Final = " \t\r\n\\\"'}])>"  # what follows an empty value in JSON
_TRIVIAL: Final = frozenset("0 1 true false null none undefined yes no on off".split())
_REFERENCE: Final = re.compile(r"\$|\{\{|<%|%[sdr(]|`|<[^<>]*>\Z")
_CALL: Final = re.compile(r"[A-Za-z_][\w.]*[(\[]")
_BRACKETS: Final = re.compile(r"\\*[\"']|[{}\[\]]")
_LONGEST_NESTED: Final = 65_536


def _assignments(text: str) -> Iterator[Span]:
    """Values that stand behind a secret name."""
    passed = 0
    budget = _Budget(4 * len(text) + _LONGEST_NESTED)
    # Lower case by ASCII alone keeps every character at its place.
    for word in _WORD.finditer(_lowered(text)):
        if word.start() < passed:
            continue
        start = word.start() - len(_before(text, word.start()))
        end = _end(_NAME_AFTER.match(text, word.end()), word.end())
        between = _BETWEEN.match(text, end)
        if between is not None and is_secret_name(text[start:end].lstrip("-.")):
            span = _value(text, start, end, between, budget)
            if span is not None:
                yield span
                passed = span.end
        elif between is None and (said := _PROSE.match(text, end)) and is_secret_name(text[start:end]):
            yield from _said(said)
    if "earer" in text or "asic " in text or "EARER" in text:
        for match in _SCHEME_ALONE.finditer(text):
            if any(each.isdigit() for each in match[1]):
                yield Span(*match.span(1), "authorization")


def _said(said: re.Match[str]) -> Iterator[Span]:
    """ "The password is hunter2": letters and digits mixed, where "the secret is patience" has none."""
    if any(each.isdigit() for each in said[1]) and any(each.isalpha() for each in said[1]):
        yield Span(*said.span(1), "secret-name")


def _lowered(text: str) -> str:
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_LOWER)


def _before(text: str, place: int) -> str:
    match = _NAME_BEFORE.search(text[max(0, place - 64) : place])
    return match[0] if match else ""


def _end(match: re.Match[str] | None, otherwise: int) -> int:
    return match.end() if match else otherwise


@dataclass(slots=True)
class _Budget:
    """Characters that may still be looked at for closing brackets: keeps the whole search linear."""

    left: int


def _value(text: str, start: int, end: int, between: re.Match[str], budget: _Budget) -> Span | None:
    """The value behind ``between``, without its quotes and its scheme; None where it holds no secret."""
    place = between.end()
    quoted = _QUOTED.match(text, place)
    if quoted is not None and quoted[2] != "`":
        place, last = quoted.end(), _closing(text, quoted)
        return _span(text, place, last) if last is not None else None
    if text[place : place + 1] in ("{", "["):
        return _nested(text, place, between[1], budget)
    is_header = text[start:end].lower() in _HEADERS
    match = (_TO_LINE_END if is_header else _BARE).match(text, place)
    if match is None or _CALL.match(text, place) or text[match.end() : match.end() + 1] in ("(", "["):
        return None
    if is_header:
        return _span(text, place, place + len(match[0].rstrip()))
    # In JSON a bare value is a number: its mark has to be a string.
    return _span(text, place, match.end(), quote=between[1] or "")


def _span(text: str, start: int, end: int, *, quote: str = "") -> Span | None:
    scheme = _SCHEME.match(text, start, end)
    start = scheme.end() if scheme else start
    value = text[start:end]
    if not value.strip(_CLOSING) or value.lower() in _TRIVIAL or _is_reference(value):
        return None
    return Span(start, end, "secret-name", quote)


def _closing(text: str, quoted: re.Match[str]) -> int | None:
    """Where a quoted value ends: at the same quote with as many backslashes before it."""
    depth, quote = len(quoted[1]), quoted[2]
    place = quoted.end()
    while (place := text.find(quote, place)) >= 0:
        backslashes = 0
        while backslashes <= depth + 1 and text[place - 1 - backslashes] == "\\":
            backslashes += 1
        if backslashes == depth or (depth and backslashes < depth) or (not depth and backslashes % 2 == 0):
            return place - depth if backslashes >= depth else place - backslashes
        place += 1
    # Cut off in the middle, perhaps within the secret.
    rest = text[quoted.end() : quoted.end() + _LONGEST_NESTED]
    return len(text) if rest.strip("}])> \r\n\t") and len(text) <= quoted.end() + _LONGEST_NESTED else None


def _nested(text: str, start: int, quote: str | None, budget: _Budget) -> Span | None:
    """A whole object or list behind a secret name, in JSON: to its closing bracket, outside of strings."""
    if quote is None or budget.left <= 0:
        return None
    depth, inside, escapes = 0, False, len(quote) - 1
    for match in _BRACKETS.finditer(text, start, start + _LONGEST_NESTED):
        budget.left -= 8  # more than the usual distance between two of them
        character = match[0][-1]
        if character == quote[-1]:
            backslashes = len(match[0]) - 1
            if backslashes < escapes:
                return None  # the text around it ends here
            inside ^= backslashes == escapes
        elif not inside and character in "{[":
            depth += 1
        elif not inside and character in "}]":
            depth -= 1
            if depth == 0:
                return Span(start, match.end(), "secret-name", quote) if match.end() - start > 2 else None
    return None


def _is_reference(value: str) -> bool:
    """Whether a value only points at a secret: a variable, a template, a placeholder in brackets."""
    return bool(_REFERENCE.match(value))
