"""What Postgres says of itself."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader

from capture.stores.asking import Silence, StoreSilent, ahead_of_here

Answer = TypeVar("Answer")


def postgres_version() -> int:
    """Postgres's version as a number: 180001 is 18.1. Raises StoreSilent."""
    return int(_row("SELECT current_setting('server_version_num')")[0])


def postgres_answers() -> None:
    """Return when Postgres answers. Raises StoreSilent."""
    _row("SELECT 1")


def missing_migrations() -> list[str]:
    """The migrations that the code has and Postgres has not. Raises StoreSilent."""

    def look() -> list[str]:
        loader = MigrationLoader(connection)
        missing = loader.graph.nodes.keys() - (loader.applied_migrations or {}).keys()
        return sorted(f"{app}.{name}" for app, name in missing)

    return _postgres(look)


def keys_in_force() -> int:
    """How many service keys made by command are neither revoked nor expired. Raises StoreSilent."""
    return int(_row(_KEYS_IN_FORCE)[0])


def hands_out_of_step(sample: int) -> int:
    """How many of the newest hands differ from the ledger, newest charges without a hand included.

    Raises StoreSilent.
    """
    differing, lacking = _row(_OUT_OF_STEP, [sample, sample])
    return int(differing) + int(lacking)


_KEYS_IN_FORCE: Final = """
SELECT count(*) FROM agent_service_keys
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
"""
# The unique index of the ledger begins with table and hand, so each of the two costs ``sample`` look-ups.
_OUT_OF_STEP: Final = """
SELECT
    (SELECT count(*) FROM (SELECT * FROM agent_hands ORDER BY id DESC LIMIT %s) AS hand
     CROSS JOIN LATERAL (
         SELECT count(*) FILTER (WHERE NOT is_fallback) AS turns, count(*) FILTER (WHERE is_fallback) AS fallbacks
         FROM agent_inference_charges AS charge
         WHERE charge.table_id = hand.table_id AND charge.hand_number = hand.hand_number
     ) AS ledger
     WHERE (hand.turns, hand.fallbacks) <> (ledger.turns, ledger.fallbacks)),
    (SELECT count(*) FROM (SELECT * FROM agent_inference_charges ORDER BY id DESC LIMIT %s) AS charge
     WHERE NOT EXISTS (SELECT FROM agent_hands AS hand
                       WHERE hand.table_id = charge.table_id AND hand.hand_number = charge.hand_number))
"""


def postgres_clock_ahead() -> float:
    """Seconds by which Postgres's clock is ahead of this machine's. Raises StoreSilent."""
    return ahead_of_here(lambda: float(_row("SELECT extract(epoch FROM clock_timestamp())")[0]))


def _postgres(ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except (DatabaseError, InterfaceError) as exc:
        raise StoreSilent(Silence.UNREACHABLE, type(exc).__name__) from exc


def _row(statement: str, parameters: list[int] | None = None) -> tuple[Any, ...]:
    def ask() -> tuple[Any, ...]:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            row: tuple[Any, ...] = cursor.fetchone() or ()
            return row

    return _postgres(ask)
