"""The end of what is kept for a time: charges go by whole hands, lines of the access log by themselves.

In batches, each a transaction, safe at any time, twice and two at once: rows that somebody else holds are left to
them, or to the next pruning.
"""

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from capture.ledger.locks import join_writers
from capture.limits import PRUNE_BATCH_HANDS, PRUNE_BATCH_ROWS
from capture.models import AgentAccess, AgentCallRecord, AgentHand

_OF_HANDS: Final = """
agent_inference_charges AS charge {joined} unnest(%s::varchar[], %s::bigint[]) AS old (table_id, hand_number)
{on} charge.table_id = old.table_id AND charge.hand_number = old.hand_number
"""
_COUNT: Final = "SELECT count(*) FROM" + _OF_HANDS.format(joined="JOIN", on="ON")
_DELETE: Final = "DELETE FROM" + _OF_HANDS.format(joined="USING", on="WHERE")


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a pruning of the ledger deleted, or would delete, and the hands that it left because they are pinned."""

    hands: int = 0
    charges: int = 0
    kept_because_pinned: int = 0

    def __add__(self, other: "Pruned") -> "Pruned":
        return Pruned(
            self.hands + other.hands,
            self.charges + other.charges,
            self.kept_because_pinned + other.kept_because_pinned,
        )


def prune_charges(
    days: int, *, dry_run: bool, with_pinned: bool, told: Callable[[int], object] = lambda _: None
) -> Pruned:
    """Delete the charges of hands whose last one is older than ``days``, each hand whole and with its row.

    A hand with pinned turns is kept, so that what is pinned can go on saying what is missing, unless
    ``with_pinned``. ``told`` hears the hands of each batch.
    """
    before, pruned = timezone.now() - datetime.timedelta(days=days), Pruned()
    for batch in _batches(before, dry_run=dry_run, with_pinned=with_pinned):
        pruned += batch
        told(batch.hands + batch.kept_because_pinned)
    return pruned


def prune_access_log(days: int, *, dry_run: bool, told: Callable[[int], object] = lambda _: None) -> int:
    """Delete the lines of the access log that are older than ``days``; return how many."""
    old = AgentAccess.objects.filter(at__lt=timezone.now() - datetime.timedelta(days=days))
    if dry_run:
        return old.count()
    lines = 0
    while batch := _delete_lines(old.order_by("at", "id").values_list("id", flat=True)):
        lines += batch
        told(batch)
    return lines


def _batches(before: datetime.datetime, *, dry_run: bool, with_pinned: bool) -> Iterator[Pruned]:
    """One batch after another, by the hands' beginnings: none of those that are kept is looked at twice."""
    after = Q()
    while True:
        with transaction.atomic():
            join_writers()
            hands = _old_hands(before, after, lock=not dry_run)
            gone = [hand for hand in hands if with_pinned or not hand.is_pinned]
            charges = _count_charges(gone) if dry_run else _delete(gone)
        yield Pruned(len(gone), charges, len(hands) - len(gone))
        if len(hands) < PRUNE_BATCH_HANDS:
            return
        last = hands[-1]
        after = Q(first_at__gte=last.first_at) & (Q(first_at__gt=last.first_at) | Q(id__gt=last.pk))


def _old_hands(before: datetime.datetime, after: Q, *, lock: bool) -> list[Any]:
    """A batch of hands that ended before then. A locked one gets no charge meanwhile; one in somebody's hands waits.

    A hand that ended before then began before then, too: what is indexed is its beginning.
    """
    pinned = AgentCallRecord.objects.filter(
        table_id=OuterRef("table_id"), hand_number=OuterRef("hand_number")
    )
    hands = AgentHand.objects.filter(after, first_at__lt=before, last_at__lt=before)
    if lock:
        hands = hands.select_for_update(skip_locked=True, of=("self",))
    return list(hands.annotate(is_pinned=Exists(pinned)).order_by("first_at", "id")[:PRUNE_BATCH_HANDS])


def _delete(hands: list[AgentHand]) -> int:
    """Delete these hands whole; return how many charges they had."""
    charges = int(_of_hands(_DELETE, hands).rowcount)
    AgentHand.objects.filter(id__in=[hand.pk for hand in hands]).delete()
    return charges


def _count_charges(hands: list[AgentHand]) -> int:
    return int(_of_hands(_COUNT, hands).fetchone()[0])


def _of_hands(statement: str, hands: list[AgentHand]) -> Any:
    cursor = connection.cursor()
    cursor.execute(statement, [[hand.table_id for hand in hands], [hand.hand_number for hand in hands]])
    return cursor


def _delete_lines(old: QuerySet[AgentAccess, int]) -> int:
    with transaction.atomic():
        batch = list(old.select_for_update(skip_locked=True)[:PRUNE_BATCH_ROWS])
        return AgentAccess.objects.filter(id__in=batch).delete()[0]
