"""Service keys that the environment names.

``AGENT_CAPTURE_SERVICE_KEYS=name:scope+scope[@agent,agent]:key;name:…``. A key with agents is bound to
them: it reads, pins and ingests for these alone. Agent ids are percent-encoded where they hold one of
``: ; , @ + %``. Only digests are kept in memory beside the setting itself.
"""

import functools
import hashlib
import hmac
from dataclasses import dataclass, field
from urllib.parse import unquote

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from capture.auth.callers import Caller, Scope


@dataclass(frozen=True, slots=True)
class ConfiguredKey:
    """One entry of the setting."""

    caller: Caller
    digest: bytes = field(repr=False)


def configured_key(presented: str) -> Caller | None:
    """Whose key it is, or None. Every configured key is compared, found or not."""
    digest = _digest(presented)
    found = None
    for key in parse_keys(settings.AGENT_CAPTURE_SERVICE_KEYS):
        if hmac.compare_digest(key.digest, digest):
            found = key.caller
    return found


@functools.lru_cache(maxsize=8)
def parse_keys(text: str) -> tuple[ConfiguredKey, ...]:
    """Read the setting. Raises ImproperlyConfigured naming the entry by its place, never by its content."""
    entries = [entry.strip() for entry in text.split(";")]
    return tuple(_parse(entry, place) for place, entry in enumerate(entries, start=1) if entry)


def plain_key(scope: Scope) -> str | None:
    """The first configured key, in plain, that has ``scope``: for programs that run beside the server."""
    for entry in settings.AGENT_CAPTURE_SERVICE_KEYS.split(";"):
        if entry.strip() and scope in _parse(entry.strip(), 1).caller.scopes:
            return str(entry.strip().split(":", 2)[2])
    return None


def _parse(entry: str, place: int) -> ConfiguredKey:
    parts = entry.split(":", 2)
    if len(parts) != 3 or not all(parts):
        raise _malformed(place, "must be name:scope+scope[@agent,…]:key")
    name, rights, key = parts
    scopes, _, agents = rights.partition("@")
    try:
        granted = frozenset(Scope(scope) for scope in scopes.split("+"))
    except ValueError:
        raise _malformed(place, f"has an unknown scope; the scopes are {', '.join(Scope)}") from None
    bound = frozenset(unquote(agent) for agent in agents.split(",") if agent)
    if "@" in rights and not bound:
        raise _malformed(place, "names no agent behind @")
    return ConfiguredKey(Caller(f"key:{name}", granted, bound or None), _digest(key))


def _malformed(place: int, what: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"AGENT_CAPTURE_SERVICE_KEYS: entry {place} {what}")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
