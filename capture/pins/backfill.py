"""Agent versions of turns that were pinned before their charge was written: taken from the ledger afterwards."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db import connection, transaction

from capture.limits import BACKFILL_BATCH_ROWS
from capture.models import AgentCallRecord

# A fallback's charge says nothing about a captured turn: readers do not join the two either.
_FOUND: Final = """
FROM agent_inference_charges AS charge
WHERE pinned.id = ANY(%s) AND pinned.agent_version_id IS NULL
  AND charge.table_id = pinned.table_id AND charge.hand_number = pinned.hand_number
  AND charge.agent_id = pinned.agent_id AND charge.action_index = pinned.action_index
  AND charge.agent_version_id IS NOT NULL AND NOT charge.is_fallback
"""
_FILL: Final = (
    "UPDATE agent_call_records AS pinned SET agent_version_id = charge.agent_version_id " + _FOUND  # noqa: S608
)
_COUNT: Final = "SELECT count(*) " + _FOUND.replace("FROM", "FROM agent_call_records AS pinned,")


@dataclass(frozen=True, slots=True)
class Backfilled:
    """Pinned turns that had no version, and those of them that have one now, or would get it."""

    without_version: int
    filled: int


def backfill_versions(*, dry_run: bool, told: Callable[[int], object] = lambda _: None) -> Backfilled:
    """Give pinned turns without a version that of the charge with their key; a version that stands is never changed.

    The captured record itself stays as it was recorded. ``told`` hears the turns of each batch.
    """
    seen, filled, after = 0, 0, 0
    while ids := _without_version(after):
        filled += _count(ids) if dry_run else _fill(ids)
        seen, after = seen + len(ids), ids[-1]
        told(len(ids))
    return Backfilled(seen, filled)


def _without_version(after: int) -> list[int]:
    rows = AgentCallRecord.objects.filter(agent_version_id=None, id__gt=after).order_by("id")
    return list(rows.values_list("id", flat=True)[:BACKFILL_BATCH_ROWS])


def _fill(ids: list[int]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_FILL, [ids])
        return int(cursor.rowcount)


def _count(ids: list[int]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [ids])
        return int(cursor.fetchone()[0])
