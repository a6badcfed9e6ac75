"""The read door: what the stores know of a hand, merged, with where it was looked for.

``agent_id`` has no default anywhere here: an owner's read cannot forget its scope. ``get_hand_all`` is the
operator's own door.
"""

import datetime
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from capture.absence import Clock
from capture.buffer import AgentLife, Buffer, BufferedTurn, BufferUnavailable
from capture.durable import DurableUnavailable, ask
from capture.ledger import charges_of_hand
from capture.merge import CapturedTurn, DurableTurn, HandView, Standing, merge, standing
from capture.models import AgentCallRecord, AgentHand
from capture.pinned import pinned_turns
from capture_sdk.prompt import PromptStatus
from capture_sdk.records import Charge, TurnKey

Answer = TypeVar("Answer")

_log = logging.getLogger("capture.hands")


class StoresUnavailable(Exception):
    """No store that could answer did. Nothing is known, which is not the same as nothing being there."""


@dataclass(frozen=True, slots=True)
class HandSummary:
    """One row of the recent hands, from ``agent_hands``, with its standing now."""

    id: int
    table_id: str
    hand_number: int
    agents: tuple[str, ...]
    turns: int
    fallbacks: int
    clamped: int
    redacted: int
    cost_micros: int | None
    first_at: datetime.datetime
    last_at: datetime.datetime
    standing: Standing


@dataclass(frozen=True, slots=True)
class HandPage:
    """Recent hands, newest first; ``next_cursor`` leads to older ones, None at the end."""

    hands: tuple[HandSummary, ...]
    next_cursor: int | None
    buffer_ok: bool


def get_hand_turns(table_id: str, hand_number: int, *, agent_id: str) -> HandView:
    """One agent's turns of a hand: buffer ∪ durable, missing ones named. Touches that agent's keys only.

    Raises StoresUnavailable when neither store answers.
    """
    return _view(
        (table_id, hand_number),
        agent_id,
        lambda buffer: buffer.turns(table_id, hand_number, agent_id=agent_id),
    )


def get_hand_all(table_id: str, hand_number: int) -> HandView:
    """Every agent's turns of a hand, for the operator. Raises StoresUnavailable when neither store answers.

    Agents are those of the buffer's set, of the durable rows and of the ledger: a key that expires never
    hides a durable turn.
    """
    charges = _postgres(lambda: charges_of_hand(table_id, hand_number, agent_id=None))
    charged = {charge.key.agent_id for charge in charges or ()}

    def read(buffer: Buffer) -> list[BufferedTurn]:
        agents = sorted(buffer.agents(table_id, hand_number) | charged)
        return [turn for agent in agents for turn in buffer.turns(table_id, hand_number, agent_id=agent)]

    return _view((table_id, hand_number), None, read, charges=charges)


def get_turn(key: TurnKey) -> tuple[HandView, CapturedTurn | None]:
    """One turn with the view of its agent's hand, which says why it is missing when it is."""
    view = get_hand_turns(key.table_id, key.hand_number, agent_id=key.agent_id)
    return view, next((turn for turn in view.turns if turn.key == key), None)


def find_turn(key: TurnKey) -> CapturedTurn | None:
    """One captured turn, without the others of its hand: a large hand is not read for one of its prompts.

    Raises StoresUnavailable when neither store answers.
    """
    hand = (key.table_id, key.hand_number)
    buffered = _buffer(lambda buffer: buffer.turn(key))
    durable = _postgres(lambda: pinned_turns(*hand, agent_id=key.agent_id, action_index=key.action_index))
    return next(iter(_merged(hand, buffered, durable, ()).turns), None)


def recent_hands(*, limit: int, cursor: int | None = None) -> HandPage:
    """The newest hands of the ledger, at most ``limit``, older than ``cursor``. Raises StoresUnavailable."""
    clock = read_clock()
    page = _postgres(lambda: _recent_rows(limit + 1, cursor))
    if page is None:
        raise StoresUnavailable("the durable store is unavailable")
    rows, pinned = page
    more, rows = len(rows) > limit, rows[:limit]
    lives = _buffer(
        lambda buffer: buffer.lives({(row.table_id, row.hand_number): row.agents for row in rows})
    )
    return HandPage(
        hands=tuple(
            _summary(row, pinned.get((row.table_id, row.hand_number), 0), lives, clock) for row in rows
        ),
        next_cursor=rows[-1].pk if more else None,
        buffer_ok=lives is not None,
    )


def read_clock() -> Clock:
    """Now, and the buffer's TTL."""
    return Clock(timezone.now(), settings.CAPTURE_TTL_SECONDS)


def _view(
    hand: tuple[str, int],
    agent_id: str | None,
    read: Callable[[Buffer], list[BufferedTurn]],
    *,
    charges: Sequence[Charge] | None = None,
) -> HandView:
    buffered = _buffer(read)
    if charges is None:
        charges = _postgres(lambda: charges_of_hand(*hand, agent_id=agent_id))
    # The same store: when it has not answered once, a reader does not wait for it a second time.
    durable = None if charges is None else _postgres(lambda: pinned_turns(*hand, agent_id=agent_id))
    return _merged(hand, buffered, durable, charges)


def _merged(
    hand: tuple[str, int],
    buffered: Sequence[BufferedTurn] | None,
    durable: Sequence[DurableTurn] | None,
    charges: Sequence[Charge] | None,
) -> HandView:
    if buffered is None and durable is None:
        raise StoresUnavailable("neither the buffer nor the durable store answers")
    view = merge(hand, buffered=buffered, durable=durable, charges=charges, clock=read_clock())
    _report(view)
    return view


def _report(view: HandView) -> None:
    """Say in the log which prompts are not what was recorded: a reader sees it on the turn, an operator here."""
    for turn in view.turns:
        if turn.prompt_status is PromptStatus.MISMATCHED and turn.prompt_unavailable != "rewritten":
            why = turn.prompt_unavailable or "hash_differs"
            _log.warning("prompt of %s is not what was recorded: %s", turn.key, why)


def _buffer(read: Callable[[Buffer], Answer]) -> Answer | None:
    """The buffer's answer, or None when it does not answer: a lost buffer is told, and not fatal."""
    try:
        return read(Buffer.connect())
    except BufferUnavailable:
        return None


def _postgres(read: Callable[[], Answer]) -> Answer | None:
    """The durable store's answer, or None when it does not answer. A wrong query still raises."""
    try:
        return ask(read)
    except DurableUnavailable:
        return None


def _recent_rows(limit: int, cursor: int | None) -> tuple[list[AgentHand], dict[tuple[str, int], int]]:
    rows = AgentHand.objects.order_by("-id")
    if cursor is not None:
        rows = rows.filter(id__lt=cursor)
    page = list(rows[:limit])
    tables, numbers = {row.table_id for row in page}, {row.hand_number for row in page}
    counts = (
        AgentCallRecord.objects.filter(table_id__in=tables, hand_number__in=numbers)
        .values_list("table_id", "hand_number")
        .annotate(pinned=Count("id"))
    )
    return page, {(table, number): pinned for table, number, pinned in counts}


def _summary(
    row: AgentHand, pinned: int, lives: dict[tuple[str, int, str], AgentLife] | None, clock: Clock
) -> HandSummary:
    mine = [
        life for agent in row.agents if (life := (lives or {}).get((row.table_id, row.hand_number, agent)))
    ]
    return HandSummary(
        id=row.pk,
        table_id=row.table_id,
        hand_number=row.hand_number,
        agents=tuple(row.agents),
        turns=row.turns,
        fallbacks=row.fallbacks,
        clamped=row.clamped,
        redacted=row.redacted,
        cost_micros=row.cost_micros,
        first_at=row.first_at,
        last_at=row.last_at,
        standing=standing(
            turns=row.turns,
            live=sum(len(life.indexes) for life in mine),
            pinned=pinned,
            fallbacks=row.fallbacks,
            ttl_ms=max((life.ttl_ms for life in mine), default=None),
            last_at=row.last_at,
            buffer_ok=lives is not None,
            clock=clock,
        ),
    )
