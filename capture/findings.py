"""What can be wrong with an installation: each finding with what was seen, what it means and the remedy.

    capture.E001  a service key entry is malformed
    capture.E002  the capture Redis does not answer                        (check --deploy)
    capture.E003  the capture Redis wants a password, or another one       (check --deploy)
    capture.E004  the capture Redis is loading                             (check --deploy)
    capture.E005  the capture Redis is older than 6.2
    capture.E006  the capture Redis is a replica
    capture.E007  the capture Redis is a node of a cluster
    capture.E008  migrations are missing                                   (check --deploy)
    capture.E009  two service keys are the same
    capture.E010  a service key can be guessed                             (check --deploy)
    capture.W001  the capture Redis does not evict by ``volatile-ttl``
    capture.W002  the capture Redis has no ``maxmemory``
    capture.W003  neither could be looked up
    capture.W004  the capture Redis holds keys of somebody else
    capture.W005  a service key can be guessed
    capture.W006  migrations could not be looked up                        (check --deploy)

The doctor knows these and its own, ``capture.D…``, see ``capture.doctor``. No finding repeats a key, a password
or the name of a key in Redis. Everything here is pure: facts in, findings out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from capture.limits import SERVICE_KEY_LENGTH, SERVICE_KEY_VARIETY
from capture.stores import RedisFacts, Silence, StoreSilent

OLDEST_REDIS: Final = (6, 2)
_WORDS: Final = ("changeme", "change-me", "password", "secret", "example", "letmein", "123456", "qwerty")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. ``seen`` and ``means`` are sentences, ``remedy`` an instruction."""

    id: str
    seen: str
    means: str
    remedy: str


def of_silent_redis(silent: StoreSilent) -> Finding:
    """The capture Redis gave no answer."""
    if silent.why is Silence.REFUSED:
        return Finding(
            "capture.E003",
            f"The capture Redis refuses us: {silent.kind}.",
            "It wants a password, or another user or password, so nothing can be captured or read.",
            "Put them into AGENT_CAPTURE_REDIS_URL: redis://user:password@host:6379/0.",
        )
    if silent.why is Silence.LOADING:
        return _LOADING
    return Finding(
        "capture.E002",
        f"The capture Redis does not answer: {silent.kind}.",
        "Agents lose turns once their queues are full, and reads show kept turns alone.",
        "Start it, or correct AGENT_CAPTURE_REDIS_URL.",
    )


def of_redis_kind(facts: RedisFacts) -> list[Finding]:
    """The capture Redis is not a server that captures can be kept in."""
    found: list[Finding] = []
    if _version(facts.version) < OLDEST_REDIS:
        remedy = "Use Redis 6.2 or newer, or Valkey."
        found.append(
            Finding(
                "capture.E005", f"The capture Redis is version {facts.version}.", "It is too old.", remedy
            )
        )
    if facts.is_replica:
        found.append(_REPLICA)
    if facts.is_cluster:
        found.append(_CLUSTER)
    if facts.is_loading:
        found.append(_LOADING)
    return found


def of_redis_settings(facts: RedisFacts) -> list[Finding]:
    """The capture Redis evicts what it should not, or does not bound itself."""
    found: list[Finding] = []
    if facts.policy != "volatile-ttl":
        found.append(
            Finding(
                "capture.W001",
                f"The capture Redis evicts by {facts.policy!r}.",
                "When it is full, it refuses turns or drops young ones before old ones.",
                "Set maxmemory-policy volatile-ttl, so that what expires soonest is evicted first.",
            )
        )
    if not facts.maxmemory:
        found.append(_UNBOUNDED)
    return found


def of_foreign_keys(foreign: int, sampled: int) -> list[Finding]:
    """The capture Redis is somebody else's too."""
    if not foreign:
        return []
    return [
        Finding(
            "capture.W004",
            f"{foreign} of {sampled} keys looked at in the capture Redis are not captures.",
            "Somebody else uses it: a cache, sessions or a queue, which captures may evict and which may flush them.",
            "Give captures a Redis of their own in AGENT_CAPTURE_REDIS_URL.",
        )
    ]


def of_missing_migrations(missing: Sequence[str]) -> list[Finding]:
    """Postgres has not the tables that the code expects."""
    if not missing:
        return []
    names = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
    return [
        Finding(
            "capture.E008",
            f"{len(missing)} migrations are missing in Postgres: {names}.",
            "Pages and pins fail, or write what this version does not expect.",
            "Run manage.py migrate.",
        )
    ]


def of_unknown_migrations(silent: StoreSilent) -> Finding:
    """Postgres gave no answer."""
    return Finding(
        "capture.W006",
        f"The migrations could not be looked up: {silent.kind}.",
        "Postgres does not answer. The API serves the buffer alone, and pages and pins are refused.",
        "Start Postgres, or correct DATABASE_URL.",
    )


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


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", text)[:3])


_LOADING: Final = Finding(
    "capture.E004",
    "The capture Redis is loading.",
    "It reads its data from disk, and answers nobody until it is done. Captures need no persistence.",
    'Wait, and switch its persistence off (save "", appendonly no).',
)
_REPLICA: Final = Finding(
    "capture.E006",
    "The capture Redis is a replica.",
    "It takes no writes, so every turn is lost.",
    "Name the primary in AGENT_CAPTURE_REDIS_URL, or let agents find it: redis+sentinel://host:26379/name.",
)
_CLUSTER: Final = Finding(
    "capture.E007",
    "The capture Redis is a node of a cluster, and is spoken to as a single server.",
    "It refuses every key that another node holds.",
    "Name a single server in AGENT_CAPTURE_REDIS_URL.",
)
_UNBOUNDED: Final = Finding(
    "capture.W002",
    "The capture Redis has no maxmemory.",
    "It grows until its machine has no memory left.",
    "Set maxmemory, so that the buffer bounds itself.",
)
