"""The doctor's look at the capture Redis."""

from capture import findings, stores
from capture.doctor.clocks import apart
from capture.findings import Finding
from capture.stores import RedisFacts


def buffer() -> list[Finding]:
    """Its kind, its settings, its keys and its clock. Raises StoreSilent."""
    facts = stores.redis_facts()
    found = findings.of_redis_kind(facts) + findings.of_redis_settings(facts) + _keys(facts)
    if facts.is_cluster or facts.is_loading:  # it answers nothing further
        return found
    return (
        found
        + findings.of_foreign_keys(*stores.foreign_keys())
        + apart("the capture Redis", stores.redis_clock_ahead())
    )


def _keys(facts: RedisFacts) -> list[Finding]:
    found: list[Finding] = []
    if facts.keys_without_ttl:
        found.append(
            Finding(
                "capture.D006",
                f"{facts.keys_without_ttl} of {facts.keys} keys in the capture Redis have no TTL.",
                "They are not captures, which all expire, and volatile-ttl can never evict them.",
                "Move whatever writes them to another Redis, and delete them.",
            )
        )
    if facts.evicted:
        found.append(
            Finding(
                "capture.D007",
                f"The capture Redis has evicted {facts.evicted} keys since it started.",
                f"Its {facts.maxmemory} bytes do not hold CAPTURE_TTL_SECONDS of turns: some went before their time.",
                "Raise maxmemory, or lower CAPTURE_TTL_SECONDS here and for the agents.",
            )
        )
    return found
