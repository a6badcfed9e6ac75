"""What can be wrong with Postgres."""

from collections.abc import Sequence

from capture.findings.finding import Finding
from capture.stores import StoreSilent


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
