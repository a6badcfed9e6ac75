"""Who waits for whom at the ledger: writers for nobody but a rebuild, a rebuild's chunk for every writer.

Both are advisory locks of one transaction, taken before anything else in it, so that no two ever wait in a ring.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from capture.limits import LEDGER_LOCK_SECONDS, LEDGER_LOCK_TRIES

_LEDGER: Final = 0x6C_65_64_67_65_72  # "ledger": one lock of the database, whatever the tables hold

Result = TypeVar("Result")


class LedgerBusy(Exception):
    """Some transaction that writes to the ledger stayed open too long for a chunk to come in between."""


def join_writers() -> None:
    """Go on together with other writers, and with no rebuild, until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [_LEDGER])


def alone(work: Callable[[], Result]) -> Result:
    """Do short work in one transaction while nobody writes to the ledger.

    Writers that come meanwhile queue behind it, also while it waits. So it waits briefly, lets them pass and
    tries again. Raises LedgerBusy when it never got its turn; then nothing was done.
    """
    for attempt in range(LEDGER_LOCK_TRIES):
        try:
            with transaction.atomic():
                _keep_writers_out()
                return work()
        except OperationalError as exc:
            if not isinstance(exc.__cause__, LockNotAvailable):
                raise
        time.sleep(LEDGER_LOCK_SECONDS * min(attempt + 1, 5))
    raise LedgerBusy(
        f"a transaction has been writing to the ledger for longer than {LEDGER_LOCK_TRIES} waits of"
        f" {LEDGER_LOCK_SECONDS} s: see pg_stat_activity for the one that is idle in transaction, and start again"
    )


def _keep_writers_out() -> None:
    limit = f"{LEDGER_LOCK_SECONDS * 1000:.0f}ms"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('lock_timeout'), set_config('lock_timeout', %s, true)", [limit]
        )
        usual, _ = cursor.fetchone()
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LEDGER])
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [usual])
