"""Service keys: who calls, and what the key allows. Refused by default, compared in constant time.

``AGENT_CAPTURE_SERVICE_KEYS=name:scope+scope[@agent,agent]:key;name:…``. A key with agents is bound to
them: it reads, pins and ingests for these alone. Agent ids are percent-encoded where they hold one of
``: ; , @ + %``. Only digests are kept in memory beside the setting itself.
"""

import functools
import hashlib
import hmac
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class Scope(StrEnum):
    """What a key may do."""

    INGEST = "ingest"
    READ_OWN = "read-own"
    READ_ALL = "read-all"
    PROMOTE = "promote"


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """One named key. ``agents`` is None for a key that is bound to no agent."""

    name: str
    scopes: frozenset[Scope]
    agents: frozenset[str] | None
    digest: bytes = field(repr=False)

    def covers(self, agent_id: str) -> bool:
        """Whether the key may act for this agent."""
        return self.agents is None or agent_id in self.agents


def find_key(presented: str) -> ServiceKey | None:
    """The key that was presented, or None. Every configured key is compared, found or not."""
    digest = _digest(presented)
    found = None
    for key in parse_keys(settings.AGENT_CAPTURE_SERVICE_KEYS):
        if hmac.compare_digest(key.digest, digest):
            found = key
    return found


@functools.lru_cache(maxsize=8)
def parse_keys(text: str) -> tuple[ServiceKey, ...]:
    """Read the setting. Raises ImproperlyConfigured naming the entry by its place, never by its content."""
    entries = [entry.strip() for entry in text.split(";")]
    return tuple(_parse(entry, place) for place, entry in enumerate(entries, start=1) if entry)


def plain_key(scope: Scope) -> str | None:
    """The first configured key, in plain, that has ``scope``: for programs that run beside the server."""
    for entry in settings.AGENT_CAPTURE_SERVICE_KEYS.split(";"):
        if entry.strip() and scope in _parse(entry.strip(), 1).scopes:
            return str(entry.strip().split(":", 2)[2])
    return None


def _parse(entry: str, place: int) -> ServiceKey:
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
    return ServiceKey(name, granted, bound or None, _digest(key))


def _malformed(place: int, what: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"AGENT_CAPTURE_SERVICE_KEYS: entry {place} {what}")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
