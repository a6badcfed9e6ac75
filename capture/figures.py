"""The last hour in a few figures, for whoever looks whether all is well: bounded reads, nothing that grows."""

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Sum

from capture.buffer import Buffer, BufferUnavailable
from capture.durable import DurableUnavailable, ask
from capture.hands import read_clock
from capture.limits import FIGURE_HANDS, FIGURE_KEYS
from capture.models import AgentHand
from capture.stores import StoreSilent, redis_facts
from capture_sdk.records import TurnKey

_HOUR: Final = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LedgerFigures:
    """Of the hands that were begun in the last hour: real turns, fallbacks, clamped turns."""

    turns: int
    fallbacks: int
    clamped: int

    @property
    def inferences(self) -> int:
        """Turns and fallbacks."""
        return self.turns + self.fallbacks

    @property
    def fallback_rate(self) -> float | None:
        """Of all inferences; None where there were none."""
        return self.fallbacks / self.inferences if self.inferences else None

    @property
    def clamp_rate(self) -> float | None:
        """Of the real turns; None where there were none."""
        return self.clamped / self.turns if self.turns else None


@dataclass(frozen=True, slots=True)
class BufferFigures:
    """Memory in bytes. ``envelopes`` are counted among the first keys alone where ``is_counted`` is false.

    ``lost`` are turns that clients lost before they reached the buffer: of each client that played one of the newest
    hands, what its latest record there tells.
    """

    used_memory: int
    maxmemory: int
    envelopes: int
    is_counted: bool
    lost: int


def ledger_figures() -> LedgerFigures | None:
    """What the ledger tells; None where it does not answer."""
    since = read_clock().now - _HOUR
    hands = AgentHand.objects.filter(first_at__gte=since)
    try:
        sums = ask(
            lambda: hands.aggregate(turns=Sum("turns"), fallbacks=Sum("fallbacks"), clamped=Sum("clamped"))
        )
    except DurableUnavailable:
        return None
    return LedgerFigures(**{name: int(value or 0) for name, value in sums.items()})


def buffer_figures(newest: Sequence[tuple[str, int, Sequence[str]]]) -> BufferFigures | None:
    """What the buffer tells, ``newest`` being hands with their agents; None where it does not answer."""
    buffer = Buffer.connect()
    try:
        facts = redis_facts()
        envelopes, is_counted = buffer.count_envelopes(FIGURE_KEYS)
        lost = _lost(buffer, newest[:FIGURE_HANDS])
    except (BufferUnavailable, StoreSilent):
        return None
    return BufferFigures(facts.used_memory, facts.maxmemory, envelopes, is_counted, lost)


def _lost(buffer: Buffer, newest: Sequence[tuple[str, int, Sequence[str]]]) -> int:
    lives = buffer.lives({(table, hand): agents for table, hand, agents in newest})
    records = buffer.records([TurnKey(*seat, max(life.indexes)) for seat, life in lives.items()])
    most: Counter[str] = Counter()
    for record in records:
        client = record.client_id or ""
        most[client] = max(most[client], sum(record.losses.values()))
    return most.total()
