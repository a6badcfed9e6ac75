"""Envelope + remainder: how a prompt is split, hashed and joined again.

Reconstruction is ``envelope + joiner + remainder`` when the remainder is not empty, else ``envelope``.
The envelope (base prompt, strategy, skills) repeats turn after turn and is stored once under the
sha256 of its bytes; the remainder is the turn's own. Everything is bytes here: ``str`` is UTF-8 with
surrogatepass, so that any Python string comes back identical.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

_LONGEST_HELD: Final = 256 * 1024  # characters of an envelope whose hash is remembered


class PromptStatus(StrEnum):
    """What a reader may say about a prompt, after hashing it now."""

    VERIFIED = "verified"
    MISMATCHED = "mismatched"
    UNAVAILABLE = "unavailable"


def text_bytes(text: str | bytes) -> bytes:
    """The bytes that stand for ``text``: UTF-8 with surrogatepass, or the bytes themselves."""
    if isinstance(text, str):
        return str.encode(text, "utf-8", "surrogatepass")
    return bytes(text)


def bytes_text(data: bytes, *, is_text: bool) -> str | bytes:
    """The inverse of ``text_bytes``; bytes that are not UTF-8 stay bytes."""
    if not is_text:
        return data
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt in two parts, with the sha256 (hex) of the whole and of the envelope.

    ``envelope`` is None where a store no longer has it; ``env_hash`` is None where there is none
    because the prompt was kept whole. ``is_messages`` says that the text is a JSON list of chat messages.
    """

    envelope: bytes | None
    joiner: bytes
    remainder: bytes
    env_hash: str | None
    sha256: str
    is_text: bool
    is_messages: bool = False

    def whole(self) -> bytes | None:
        """Rejoin the prompt; None while the envelope is missing."""
        if self.envelope is None:
            return None
        return join(self.envelope, self.joiner, self.remainder)

    def text(self) -> str | bytes | None:
        """The whole prompt as it was given: a string if it was one, else bytes."""
        whole = self.whole()
        return None if whole is None else bytes_text(whole, is_text=self.is_text)

    def status(self) -> PromptStatus:
        """Hash the rejoined prompt now and compare it with what was recorded."""
        whole = self.whole()
        if whole is None:
            return PromptStatus.UNAVAILABLE
        if hashlib.sha256(whole).hexdigest() != self.sha256:
            return PromptStatus.MISMATCHED
        return PromptStatus.VERIFIED


def join(envelope: bytes, joiner: bytes, remainder: bytes) -> bytes:
    """The one reconstruction rule."""
    return envelope + joiner + remainder if remainder else envelope


def split(envelope: str | bytes, remainder: str | bytes, joiner: str | bytes = "\n") -> Prompt:
    """Seal a prompt that its assembler gave in two parts.

    An empty envelope means that the prompt is kept whole: no joiner then, and nothing to share.
    """
    is_text = isinstance(envelope, str) and isinstance(remainder, str) and isinstance(joiner, str)
    env, hashed = _hashed(envelope) if len(envelope) <= _LONGEST_HELD else _hashed.__wrapped__(envelope)
    rest = text_bytes(remainder)
    glue = text_bytes(joiner) if env else b""
    whole = hashed.copy()  # the envelope is hashed once, not once a turn
    if rest:
        whole.update(glue + rest)
    return Prompt(
        envelope=env,
        joiner=glue,
        remainder=rest,
        env_hash=hashed.hexdigest() if env else None,
        sha256=whole.hexdigest(),
        is_text=is_text,
    )


@lru_cache(maxsize=64)
def _hashed(envelope: str | bytes) -> "tuple[bytes, hashlib._Hash]":
    """An envelope's bytes, and the state of the hash after them."""
    env = text_bytes(envelope)
    return env, hashlib.sha256(env)
