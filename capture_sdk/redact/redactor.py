"""The walk over what was recorded: every field passes here before anything leaves the process."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from capture_sdk.forms import MAX_DEPTH
from capture_sdk.freeze import repack, unpack
from capture_sdk.prompt import text_bytes
from capture_sdk.redact.looks import looks
from capture_sdk.redact.marks import MARK
from capture_sdk.redact.names import is_secret_name
from capture_sdk.redact.patterns import Look, is_card
from capture_sdk.redact.policy import Action, CapturePolicy, Path
from capture_sdk.redact.texts import Span, spans

_SHORTEST_LEARNED: Final = 8  # a shorter value would blank innocent text wherever it happens to occur
_MOST_PIECES: Final = 4_096
_ONLY_TEXTS: Final = {str}
_OURS: Final = frozenset({"$metadata", "$artifact", "$withheld", "$cut", "$object"})
_WITH_FIELDS: Final = frozenset({"$dataclass", "$pydantic", "$attrs", "$namedtuple"})
_NUMBERED: Final = frozenset(
    f"{first}{gap}{last}"
    for first in ("card", "Card", "pan", "cc", "credit_card", "creditCard")
    for gap in ("", "_", "-")
    for last in ("", "number", "Number", "no", "num")
)


class Redactor:
    """Applies a policy to one record, and remembers what it masked, so that an echo elsewhere is masked too.

    ``counts`` are the values changed so far by action, ``artifacts`` what was put apart, by sha256.
    """

    def __init__(self, policy: CapturePolicy, known: Iterable[str] = ()) -> None:
        self.policy = policy
        self.counts: Counter[str] = Counter()
        self.artifacts: dict[str, bytes] = {}
        self._known = {value for value in known if value}
        self._kinds: frozenset[Look] = frozenset()

    @property
    def known(self) -> frozenset[str]:
        """The values that are masked wherever they occur."""
        return frozenset(self._known)

    def frozen(self, packed: bytes, field: str) -> bytes:
        """Redact a frozen value. Never raises: a failure withholds the value and says so."""
        try:
            thawed = unpack(packed)
            walked = self.value(thawed, field)
            return packed if walked is thawed else repack(walked)
        except Exception as exc:  # noqa: BLE001 - fails closed: whatever goes wrong here must not pass a secret
            return repack(self._withheld(exc))

    def value(self, value: object, field: str) -> object:
        """Redact a value that ``unpack`` gave, ``field`` being its name in the record. Never raises.

        The value itself comes back where nothing in it had to be changed.
        """
        try:
            self._kinds = self._kinds_of(value)
            if self._is_plain and not self._kinds:
                return value
            before = len(self._known)
            walked = self._decide(value, (field,))
            if len(self._known) == before:
                return walked
            self._kinds = self._kinds_of(walked)  # something learnt late may stand earlier, too
            return self._decide(walked, (field,))
        except Exception as exc:  # noqa: BLE001 - fails closed: whatever goes wrong here must not pass a secret
            return self._withheld(exc)

    def text(self, text: str | bytes, field: str) -> str | bytes | None:
        """Redact a whole text field. Never raises; None where the policy drops it."""
        value = self.value(text, field)
        if value is None or isinstance(value, str | bytes):
            return value
        return repack(value)

    def pieces(self, pieces: Sequence[str]) -> list[str]:
        """Redact one text that came in pieces: a secret is marked where it begins, and cut from what follows.

        Never raises: a failure withholds every piece.
        """
        try:
            return self._pieces(list(pieces))
        except Exception as exc:  # noqa: BLE001 - fails closed: whatever goes wrong here must not pass a secret
            self._withheld(exc)
            return [""] * len(pieces)

    def _pieces(self, pieces: list[str]) -> list[str]:
        whole = "".join(pieces)
        found = spans(whole, self._known, kinds=looks(whole))
        if not found:
            return pieces
        kept, start, rest = [], 0, list(found)
        for piece in pieces:
            end, parts, place = start + len(piece), list[str](), start
            while rest and rest[0].start < end:
                span = rest[0]
                if span.start >= start:
                    parts += [whole[place : span.start], self._mark(whole, span)]
                place = min(span.end, end)
                if span.end > end:
                    break
                rest.pop(0)
            kept.append("".join([*parts, whole[place:end]]))
            start = end
        return kept

    @property
    def _is_plain(self) -> bool:
        return not self.policy.rules and self.policy.default_action is Action.CAPTURE

    def _kinds_of(self, value: object) -> frozenset[Look]:
        """Which kinds of secret can stand anywhere in ``value``: in a text, as a name, or known already.

        One look over all texts together, and what it says is then searched for in them all together: the walk
        over each of them is for those turns alone in which something was found.
        """
        texts, keys = _gathered(value)
        whole = "\n".join(texts)
        kinds = looks(whole)
        found = (
            {span.look for span in spans(whole, self._known, kinds=kinds)} if kinds or self._known else set()
        )
        if any(map(is_secret_name, keys)) or _NUMBERED & keys:
            found.add(Look.NAMES)
        return frozenset(found | ({Look.KEYS} & kinds))

    # Who decides: a rule that names the place, the name of the entry, or the default.

    def _decide(self, value: object, path: Path) -> object:
        rule = self.policy.decide(path)
        if rule is not None and rule.action is not Action.CAPTURE:
            return self._act(Action(rule.action), rule.name, value)
        if rule is None and len(path) > 1 and is_secret_name(path[-1]) and not _is_empty(value):
            self._learn(value)
            return self._act(Action.MASK, "secret-name", value)
        if rule is None and self.policy.default_action is not Action.CAPTURE and not _is_container(value):
            return self._act(Action(self.policy.default_action), "default", value)
        return self._walk(value, path)

    def _walk(self, value: object, path: Path) -> object:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, bytes):
            # Undecodable bytes become half surrogates and come back as they were.
            return self._text(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if len(path) > 4 * MAX_DEPTH:
            return {"$cut": "depth"}
        if isinstance(value, list):
            pieces = self._whole(value)
            return [self._decide(item, (*path, str(place))) for place, item in enumerate(pieces)]
        if isinstance(value, dict):
            return self._mapping(value, path)
        if isinstance(value, int) and path[-1] in _NUMBERED and is_card(str(value)):
            return self._act(Action.MASK, "card", value)
        return value

    def _mapping(self, value: dict[str, object], path: Path) -> object:
        """A mapping, or one of freeze's forms, which is walked through to what it holds."""
        form = next(iter(value)) if len(value) == 1 else ""
        held = value.get(form)
        if form in _OURS:
            return value
        if form == "$dict" and isinstance(held, list):
            return {form: [[self._key(key), self._decide(item, (*path, str(key)))] for key, item in held]}
        if form in _WITH_FIELDS and isinstance(held, list) and isinstance(held[1], dict):
            return {form: [held[0], self._entries(held[1], path)]}
        if form.startswith("$"):
            return {form: self._walk(held, path)}
        return self._entries(value, path)

    def _entries(self, value: dict[str, object], path: Path) -> dict[str, object]:
        entries: dict[str, object] = {}
        for key, item in value.items():
            name = str(self._key(key))
            while name in entries:  # two names that became one mark: both entries stay
                name += "'"
            entries[name] = self._decide(item, (*path, key))
        return entries

    def _key(self, key: object) -> object:
        return self._text(key) if isinstance(key, str) and len(key) >= _SHORTEST_LEARNED else key

    # Texts.

    def _text(self, text: str) -> str:
        found = spans(text, self._known, kinds=self._kinds & looks(text))
        if not found:
            return text
        parts, place = [], 0
        for span in found:
            parts += [text[place : span.start], self._mark(text, span)]
            place = span.end
        return "".join([*parts, text[place:]])

    def _mark(self, text: str, span: Span) -> str:
        secret = text[span.start : span.end]
        if span.rule == "secret-name":
            self._learn(secret)
        self.counts[Action.MASK] += 1
        mark = self.policy.keys.redacted(span.rule, text_bytes(secret), len(secret))
        return f"{span.quote}{mark}{span.quote}"

    def _whole(self, items: list[object]) -> list[object]:
        """A text that came in pieces: a secret across their borders is marked in the first and cut from the next."""
        if not 2 <= len(items) <= _MOST_PIECES or not all(isinstance(item, str) for item in items):
            return items
        pieces = [str(item) for item in items]
        whole = "".join(pieces)
        found = spans(whole, self._known, kinds=self._kinds & looks(whole), only_joining=True)
        for span in reversed([self._own_part(span, pieces) for span in found]):
            start = 0
            for place, piece in enumerate(pieces):
                end = start + len(piece)
                if start <= span.start < end < span.end:
                    pieces = self._across(pieces, place, span, start, whole)
                    break
                start = end
        return list(pieces)

    def _own_part(self, span: Span, pieces: list[str]) -> Span:
        """Two secrets in a row are two: a piece that begins with one of its own ends the one before it."""
        start = 0
        for piece in pieces:
            if span.start < start < span.end:
                own = spans(piece, self._known, only_joining=True)
                if own and own[0].start == 0:
                    return replace(span, end=start)
            start += len(piece)
        return span

    def _across(self, pieces: list[str], first: int, span: Span, start: int, whole: str) -> list[str]:
        joined = list(pieces)
        joined[first] = pieces[first][: span.start - start] + self._mark(whole, span)
        place = start + len(pieces[first])
        for index in range(first + 1, len(pieces)):
            if place >= span.end:
                break
            joined[index] = pieces[index][span.end - place :]
            place += len(pieces[index])
        return joined

    # What is done to a value.

    def _act(self, action: Action, rule: str, value: object) -> object:
        if isinstance(value, str) and MARK.fullmatch(value):
            return value  # marked already
        if value is None or (isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _OURS):
            return value
        self.counts[action] += 1
        raw = text_bytes(value) if isinstance(value, str | bytes) else repack(value)
        length = len(value) if isinstance(value, str | bytes) else len(raw)
        return _ACTIONS[action](self, rule, value, raw, length)

    def _metadata(self, value: object, raw: bytes) -> dict[str, object]:
        return {
            "type": type(value).__name__,
            "bytes": len(raw),
            "sha256": hashlib.sha256(raw).hexdigest(),
        }

    def _put_apart(self, value: object, raw: bytes) -> dict[str, object]:
        about = self._metadata(value, raw)
        self.artifacts[str(about["sha256"])] = raw
        return {"$artifact": about}

    def _learn(self, value: object) -> None:
        if isinstance(value, str) and len(value) >= _SHORTEST_LEARNED and not MARK.fullmatch(value):
            self._known.add(value)
        elif isinstance(value, dict):
            for item in value.values():
                self._learn(item)
        elif isinstance(value, list):
            for item in value:
                self._learn(item)

    def _withheld(self, exc: Exception) -> dict[str, object]:
        self.counts["withheld"] += 1
        return {"$withheld": f"redaction failed: {type(exc).__name__}"}


_Act = Callable[[Redactor, str, object, bytes, int], object]
_ACTIONS: Final[dict[Action, _Act]] = {
    Action.DROP: lambda its, rule, value, raw, length: None,
    Action.MASK: lambda its, rule, value, raw, length: its.policy.keys.redacted(rule, raw, length),
    Action.HASH: lambda its, rule, value, raw, length: its.policy.keys.hashed(rule, raw, length),
    Action.METADATA_ONLY: lambda its, rule, value, raw, length: {"$metadata": its._metadata(value, raw)},
    Action.ARTIFACT_ONLY: lambda its, rule, value, raw, length: its._put_apart(value, raw),
    Action.ENCRYPT: lambda its, rule, value, raw, length: its.policy.keys.encrypted(
        rule, repack(value), length
    ),
}


def _gathered(value: object) -> tuple[list[str], set[str]]:
    """Every text in a thawed value, and every name of an entry. (A list that grows while it is walked.)"""
    texts: list[str] = []
    keys: set[str] = set()
    nodes: list[Any] = [value]
    for node in nodes:
        kind = type(node)
        if kind is str:
            texts.append(node)
        elif kind is dict:
            keys.update(node)
            nodes.extend(node.values())
        elif kind is list:
            if len(node) == 2 and type(node[0]) is str:
                keys.add(node[0])  # an entry of a $dict, perhaps
            nodes.extend(node)
            if len(node) > 1 and set(map(type, node)) == _ONLY_TEXTS:
                texts.append(_borders(node))
        elif kind is bytes:
            texts.append(node.decode("utf-8", "surrogateescape"))
    return texts + [key for key in keys if len(key) >= _SHORTEST_LEARNED], keys


def _borders(pieces: list[str]) -> str:
    """Texts that may be one in pieces, as far as a secret can stand across two of them."""
    return "".join(piece if len(piece) <= 64 else f"{piece[:32]}\n{piece[-32:]}" for piece in pieces)


def _is_empty(value: object) -> bool:
    """What says that there is no secret: nothing, a yes or no, an empty text or collection."""
    return value is None or isinstance(value, bool) or value in ("", b"") or value == [] or value == {}


def _is_container(value: object) -> bool:
    return isinstance(value, dict | list)
