"""What can be wrong with the capture Redis."""

import re
from typing import Final

from capture.findings.finding import Finding
from capture.stores import RedisFacts, Silence, StoreSilent

OLDEST_REDIS: Final = (6, 2)


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
