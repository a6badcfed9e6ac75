"""Recent hands: the list that ``agent_hands`` is kept for, newest first, page by page and filtered."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from capture.absence import Clock
from capture.buffer import Buffer, BufferUnavailable, HandLife
from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable, read_clock
from capture.ledger import storable
from capture.limits import ID_LENGTH, RECENT_WALK_HANDS
from capture.merge import Standing, standing
from capture.models import AgentCallRecord, AgentHand

Lives = Mapping[tuple[str, int], HandLife]


class StandsOut(StrEnum):
    """What at least one turn of a hand was."""

    CLAMPED = "clamped"
    FALLBACK = "fallback"
    REDACTED = "redacted"


class StateFilter(StrEnum):
    """What a hand may be by the ledger and the pins alone; whether the buffer still has it is read with the page."""

    RECENT = "recent"  # not pinned, and inside its time in the buffer
    PINNED = "pinned"
    EXPIRED = "expired"  # not pinned, and its time has passed
    FALLBACK_ONLY = "fallback_only"


@dataclass(frozen=True, slots=True)
class HandFilter:
    """What recent hands are narrowed to; None leaves a thing open, and all that is given must hold.

    ``agent_id``, ``agent_version_id`` and ``model`` hold for at least one charge of the hand, the latter two compared
    as ``agent_hands`` keeps them: cut to an id's length. ``since`` (included) and ``until`` (not included) are times
    with their zone, compared with the hand's first charge. ``is_pinned`` asks whether any turn of it is kept.
    ``state`` is one of the hand as a whole.
    """

    table_id: str | None = None
    agent_id: str | None = None
    agent_version_id: str | None = None
    model: str | None = None
    stands_out: StandsOut | None = None
    since: datetime.datetime | None = None
    until: datetime.datetime | None = None
    is_pinned: bool | None = None
    state: StateFilter | None = None


EVERY_HAND: Final = HandFilter()


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


def recent_hands(wanted: HandFilter = EVERY_HAND, *, limit: int, cursor: int | None = None) -> HandPage:
    """The newest hands that are wanted, at most ``limit``, older than ``cursor``. Raises StoresUnavailable."""
    clock = read_clock()
    try:
        rows = ask(lambda: _rows(wanted, limit + 1, cursor))
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc
    more, rows = len(rows) > limit, rows[:limit]
    lives = _lives(rows)
    return HandPage(
        hands=tuple(_summary(row, lives, clock) for row in rows),
        next_cursor=rows[-1].pk if more else None,
        buffer_ok=lives is not None,
    )


def _rows(wanted: HandFilter, limit: int, cursor: int | None) -> list[Any]:
    """The hands of a page, each with the number of its pinned turns, by one query, or by three at most."""
    older = AgentHand.objects.all() if cursor is None else AgentHand.objects.filter(id__lt=cursor)
    hands = _wanted(older, wanted).annotate(pinned=_PINNED_TURNS)
    border = _border(older) if _may_be_far(wanted) else None
    if border is None:
        return list(hands.order_by("-id")[:limit])
    near = list(hands.filter(id__gt=border).order_by("-id")[:limit])
    if len(near) == limit:
        return near
    # The sum keeps the planner from walking on by id: the index of what is asked for gives all ids, to be sorted.
    far = _wanted(older, wanted).filter(id__lte=border).order_by((F("id") + 0).desc()).values("id")
    return [*near, *hands.filter(id__in=far[: limit - len(near)]).order_by("-id")]


def _may_be_far(wanted: HandFilter) -> bool:
    """Whether all that is asked for may be long ago, such as an agent's hands that left: the planner cannot know."""
    names = (wanted.agent_id, wanted.agent_version_id, wanted.model)
    is_pinned = wanted.is_pinned is True or wanted.state is StateFilter.PINNED
    return is_pinned or any(name is not None for name in names)


def newer_hands(wanted: HandFilter, *, than: int, at_most: int) -> int:
    """How many wanted hands came after the one of this id, counted up to ``at_most``. Raises StoresUnavailable."""
    hands = _wanted(AgentHand.objects.filter(id__gt=than), wanted)
    try:
        return ask(hands.order_by("-id")[:at_most].count)
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc


def _border(hands: QuerySet[AgentHand]) -> int | None:
    """The id down to which a page is walked for, hand by hand; None when there are no more than that."""
    ids = hands.order_by("-id").values_list("id", flat=True)
    return next(iter(ids[RECENT_WALK_HANDS : RECENT_WALK_HANDS + 1]), None)


def _wanted(hands: QuerySet[AgentHand], wanted: HandFilter) -> QuerySet[AgentHand]:
    conditions = {
        "table_id": wanted.table_id,
        "agents__contains": _one(wanted.agent_id),
        "agent_version_ids__contains": _one(wanted.agent_version_id),
        "model_names__contains": _one(wanted.model),
        "first_at__gte": wanted.since,
        "first_at__lt": wanted.until,
    }
    hands = hands.filter(**{name: each for name, each in conditions.items() if each is not None})
    if wanted.stands_out is not None:
        hands = hands.filter(**{_FLAGS[wanted.stands_out]: True})
    if wanted.is_pinned is not None:
        hands = hands.filter(Exists(_TURNS) if wanted.is_pinned else ~Exists(_TURNS))
    return hands if wanted.state is None else _in_state(hands, wanted.state)


def _in_state(hands: QuerySet[AgentHand], state: StateFilter) -> QuerySet[AgentHand]:
    if state is StateFilter.PINNED:
        return hands.filter(Exists(_TURNS))
    if state is StateFilter.FALLBACK_ONLY:
        return hands.filter(has_fallbacks=True, turns=0)
    clock = read_clock()
    border = clock.now - datetime.timedelta(seconds=clock.ttl_seconds)
    hands = hands.filter(~Exists(_TURNS), turns__gt=0)
    return (
        hands.filter(last_at__gte=border) if state is StateFilter.RECENT else hands.filter(last_at__lt=border)
    )


def _one(name: str | None) -> list[str] | None:
    """The name as the ledger wrote it into its hand's row."""
    return None if name is None else [storable(name)[:ID_LENGTH]]


def _lives(rows: list[AgentHand]) -> Lives | None:
    """What the buffer still has of them, or None when it does not answer: that is told, and not fatal."""
    try:
        return Buffer.connect().hand_lives({(row.table_id, row.hand_number): row.agents for row in rows})
    except BufferUnavailable:
        return None


def _summary(row: Any, lives: Lives | None, clock: Clock) -> HandSummary:
    life = (lives or {}).get((row.table_id, row.hand_number))
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
            live=0 if life is None else life.turns,
            pinned=row.pinned,
            fallbacks=row.fallbacks,
            ttl_ms=None if life is None else life.ttl_ms,
            last_at=row.last_at,
            buffer_ok=lives is not None,
            clock=clock,
        ),
    )


_FLAGS: Final = {
    StandsOut.CLAMPED: "has_clamped",
    StandsOut.FALLBACK: "has_fallbacks",
    StandsOut.REDACTED: "has_redacted",
}
_TURNS: Final = AgentCallRecord.objects.filter(
    table_id=OuterRef("table_id"), hand_number=OuterRef("hand_number")
)
# A count for each hand of the page by itself: neither more hands nor more turns are read than are shown.
_PINNED_TURNS: Final = Coalesce(
    Subquery(_TURNS.values("table_id").annotate(count=Count("*")).values("count")), 0
)
