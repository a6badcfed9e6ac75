"""What can be wrong with service keys. Entries come as (name, key), and only names are ever said."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from capture.findings.finding import Finding
from capture.limits import SERVICE_KEY_LENGTH, SERVICE_KEY_VARIETY

_WORDS: Final = ("changeme", "change-me", "password", "secret", "example", "letmein", "123456", "qwerty")


def of_same_keys(entries: Sequence[tuple[str, str]]) -> list[Finding]:
    """Entries, as (name, key), that share a key: the later one's scopes decide, and nobody can tell who asked."""
    counts = Counter(key for _, key in entries)
    names = [name for name, key in entries if counts[key] > 1]
    if not names:
        return []
    return [
        Finding(
            "capture.E009",
            f"The service keys named {_listed(names)} are the same.",
            "Nobody can tell who asked, and one entry's scopes hide the other's.",
            "Make a key of its own for each entry.",
        )
    ]


def of_weak_keys(entries: Iterable[tuple[str, str]], *, id_: str) -> list[Finding]:
    """Entries, as (name, key), whose key can be guessed; ``id_`` is the warning's or the error's."""
    names = [name for name, key in entries if _is_weak(key)]
    if not names:
        return []
    return [
        Finding(
            id_,
            f"The service keys named {_listed(names)} can be guessed.",
            f"A key has {SERVICE_KEY_LENGTH} characters, {SERVICE_KEY_VARIETY} of them different, and no common word.",
            "Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'.",
        )
    ]


def _is_weak(key: str) -> bool:
    low = key.lower()
    return (
        len(key) < SERVICE_KEY_LENGTH
        or len(set(key)) < SERVICE_KEY_VARIETY
        or any(word in low for word in _WORDS)
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
