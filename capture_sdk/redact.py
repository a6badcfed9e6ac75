"""Credentials are replaced by a mark before anything leaves the agent's process.

Works on names: a field whose name ends in a secret word (``agentToken``, ``api-key``, ``SESSION_COOKIE``)
loses its value, at any depth, in mappings and inside text that holds JSON. Pure: a new value comes back
and the given one is untouched. Fails closed: where redaction itself fails, the value is withheld.
"""

import re
from collections.abc import Iterable
from typing import Final

from capture_sdk.freeze import pack, unpack

MARK: Final = "[REDACTED]"

_SECRET_LAST_WORDS: Final = frozenset(
    {"token", "password", "passwd", "passphrase", "secret", "authorization", "cookie"}
    | {"credential", "credentials", "apikey", "jwt", "bearer"}
)
_SECRET_LAST_PAIRS: Final = frozenset(
    {("api", "key"), ("private", "key"), ("access", "key"), ("secret", "key"), ("set", "cookie")}
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_JSON_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:\s*)("(?:[^"\\]|\\.)*"|[^\s",\[\]{}]+)')
# A literal look before the walk: without one of these, no name in the frozen bytes can be secret.
_HINT = re.compile(
    rb"token|passw|passphrase|secret|authorization|cookie|credential|api.?key|private.?key|access.?key|jwt|bearer",
    re.IGNORECASE,
)
_SHORTEST_LEARNED: Final = 8  # a shorter value would blank innocent text wherever it happens to occur


def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a credential: ``agentToken`` does, ``max_tokens`` does not."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return bool(words) and (words[-1] in _SECRET_LAST_WORDS or tuple(words[-2:]) in _SECRET_LAST_PAIRS)


class Redactor:
    """Marks credentials and remembers their values, so that an echo of one elsewhere is marked too.

    ``count`` is the number of marks set so far.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = {value for value in known if value}
        self.count = 0

    @property
    def known(self) -> frozenset[str]:
        """The values that are marked wherever they occur."""
        return frozenset(self._known)

    def frozen(self, packed: bytes) -> bytes:
        """Redact a frozen value. Never raises: a failure withholds the value and says so."""
        try:
            if not _HINT.search(packed) and not any(value.encode() in packed for value in self._known):
                return packed
            return pack(self._walk(unpack(packed)))
        except (ValueError, TypeError, RecursionError) as exc:
            self.count += 1
            return pack({"$withheld": f"redaction failed: {type(exc).__name__}"})

    def _walk(self, value: object) -> object:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, bytes):
            text = value.decode("utf-8", "surrogateescape")
            return self._text(text).encode("utf-8", "surrogateescape")
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        if isinstance(value, dict):
            return self._mapping(value)
        return value

    def _mapping(self, value: dict[str, object]) -> dict[str, object]:
        pairs = value.get("$dict")
        if len(value) == 1 and isinstance(pairs, list):
            return {"$dict": [[key, self._entry(key, item)] for key, item in pairs]}
        return {key: self._entry(key, item) for key, item in value.items()}

    def _entry(self, name: object, value: object) -> object:
        if isinstance(name, str) and is_secret_name(name) and value is not None:
            self._learn(value)
            self.count += 1
            return MARK
        return self._walk(value)

    def _learn(self, value: object) -> None:
        if isinstance(value, str) and len(value) >= _SHORTEST_LEARNED:
            self._known.add(value)

    def _text(self, text: str) -> str:
        marked = _JSON_PAIR.sub(self._pair, text) if '"' in text else text
        for value in self._known:
            if value in marked:
                self.count += marked.count(value)
                marked = marked.replace(value, MARK)
        return marked

    def _pair(self, match: re.Match[str]) -> str:
        name, colon, value = match.groups()
        if not is_secret_name(name) or value == "null":
            return match[0]
        self._learn(value.strip('"'))
        self.count += 1
        return f'"{name}"{colon}"{MARK}"'
