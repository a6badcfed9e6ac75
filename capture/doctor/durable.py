"""The doctor's look at Postgres."""

from typing import Final

from capture import findings, stores
from capture.doctor.clocks import apart
from capture.findings import Finding
from capture.limits import HAND_SAMPLE
from capture.stores import StoreSilent

_OLDEST: Final = 140_000


def look() -> list[Finding]:
    """Its version, its clock, its migrations, and with all of those whether hands and ledger agree."""
    found = _version(stores.postgres_version()) + apart("Postgres", stores.postgres_clock_ahead())
    missing = findings.of_missing_migrations(stores.missing_migrations())
    return found + (missing or _hands(stores.hands_out_of_step(HAND_SAMPLE)))


def silent(answer: StoreSilent) -> Finding:
    """Postgres gave no answer."""
    return Finding(
        "capture.D010",
        f"Postgres does not answer: {answer.kind}.",
        "Hands cannot be kept, charges are not booked, and pages answer 503; the API serves the buffer alone.",
        "Start it, or correct DATABASE_URL.",
    )


def _version(number: int) -> list[Finding]:
    if number >= _OLDEST:
        return []
    return [
        Finding(
            "capture.D011",
            f"Postgres is version {number // 10_000}.",
            "Django speaks to 14 and newer.",
            "Upgrade it.",
        )
    ]


def _hands(differing: int) -> list[Finding]:
    if not differing:
        return []
    return [
        Finding(
            "capture.D003",
            f"{differing} of the newest hands or charges do not agree: agent_hands is out of step with the ledger.",
            "Recent hands are missing or count wrongly. The ledger itself is right.",
            "Run manage.py rebuild_hands.",
        )
    ]
