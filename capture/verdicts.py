"""Verdicts: what people say of turns. Given, read by hand, and listed; they outlive the turns that they are of."""

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from capture.buffer import Buffer, BufferUnavailable
from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable
from capture.limits import VERDICT_NOTE_LENGTH
from capture.models import AgentCallRecord, AgentVerdict, VerdictKind
from capture_sdk.records import TurnKey

_TURN: Final = ("table_id", "hand_number", "agent_id", "action_index")


class VerdictRefused(Exception):
    """What was asked for is no verdict, or its note cannot be kept; the message says what would do."""


class TurnPlace(StrEnum):
    """Whether the turn of a verdict can still be read."""

    KEPT = "kept"
    LIVE = "live"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One person's verdict on one turn; ``holds`` is false once the same person has said something else."""

    id: int
    key: TurnKey
    kind: VerdictKind
    note: str
    by: str
    at: datetime.datetime
    holds: bool


@dataclass(frozen=True, slots=True)
class VerdictFilter:
    """What the list is narrowed to; None leaves a thing open."""

    kind: VerdictKind | None = None
    agent_id: str | None = None
    by: str | None = None


EVERY_VERDICT: Final = VerdictFilter()


@dataclass(frozen=True, slots=True)
class VerdictPage:
    """Verdicts that hold, newest first, each with its turn's place; ``next_cursor`` leads to older ones."""

    verdicts: tuple[tuple[Verdict, TurnPlace], ...]
    next_cursor: int | None


def give(key: TurnKey, kind: str, *, note: str, by: str) -> Verdict:
    """Say it; what this person said of the turn before becomes history. The same again adds nothing.

    A note's line ends become newlines. Raises VerdictRefused, and StoresUnavailable when the database does not answer.
    """
    if kind not in VerdictKind.values:
        raise VerdictRefused(f"a verdict is one of {', '.join(VerdictKind.values)}, not {kind[:40]!r}")
    text = _checked_note(note)
    try:
        return ask(lambda: _give(key, VerdictKind(kind), text, by))
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc


def of_hand(table_id: str, hand_number: int) -> tuple[Verdict, ...] | None:
    """Every verdict on a hand's turns, history too, oldest first; None when the database does not answer."""
    rows = AgentVerdict.objects.filter(table_id=table_id, hand_number=hand_number).order_by("id")
    try:
        said = ask(lambda: list(rows))
    except DurableUnavailable:
        return None
    holding = set({(row.agent_id, row.action_index, row.by): row.pk for row in said}.values())
    return tuple(_verdict(row, holds=row.pk in holding) for row in said)


def latest(wanted: VerdictFilter = EVERY_VERDICT, *, limit: int, cursor: int | None = None) -> VerdictPage:
    """The newest verdicts that hold and are wanted, at most ``limit``, older than ``cursor``.

    Raises StoresUnavailable.
    """
    try:
        rows = ask(lambda: list(_wanted(wanted, cursor)[: limit + 1]))
        found = [_verdict(row) for row in rows[:limit]]
        places = ask(lambda: _places({verdict.key for verdict in found}))
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc
    placed = tuple((verdict, places[verdict.key]) for verdict in found)
    return VerdictPage(placed, found[-1].id if len(rows) > limit else None)


def _checked_note(note: str) -> str:
    text = note.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(text) > VERDICT_NOTE_LENGTH:
        raise VerdictRefused(
            f"a note has at most {VERDICT_NOTE_LENGTH:,} characters, and this one {len(text):,}"
        )
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise VerdictRefused("a note cannot hold NUL or half a surrogate pair, which no text column keeps")
    return text


@transaction.atomic
def _give(key: TurnKey, kind: VerdictKind, note: str, by: str) -> Verdict:
    with connection.cursor() as cursor:  # a double click is one verdict
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [repr((key, by))])
    where = {name: getattr(key, name) for name in _TURN}
    said = AgentVerdict.objects.filter(**where, by=by).order_by("-id").first()
    if said is None or (said.verdict, said.note) != (kind, note):
        said = AgentVerdict.objects.create(**where, verdict=kind, note=note, by=by)
        said.refresh_from_db()  # the time is the database's
    return _verdict(said)


def _later() -> Exists:
    """Whether the same person has said something later of the same turn."""
    same = {name: OuterRef(name) for name in (*_TURN, "by")}
    return Exists(AgentVerdict.objects.filter(**same, id__gt=OuterRef("id")))


def _wanted(wanted: VerdictFilter, cursor: int | None) -> QuerySet[AgentVerdict]:
    conditions = {"verdict": wanted.kind, "agent_id": wanted.agent_id, "by": wanted.by, "id__lt": cursor}
    rows = AgentVerdict.objects.filter(
        **{name: each for name, each in conditions.items() if each is not None}
    )
    return rows.filter(~_later()).order_by("-id")


def _verdict(row: AgentVerdict, *, holds: bool = True) -> Verdict:
    key = TurnKey(row.table_id, row.hand_number, row.agent_id, row.action_index)
    return Verdict(row.pk, key, VerdictKind(row.verdict), row.note, row.by, row.at, holds)


def _places(keys: Collection[TurnKey]) -> Mapping[TurnKey, TurnPlace]:
    """Where each turn can be read now: a page of verdicts costs one query and two rounds to the buffer."""
    kept = _kept(keys)
    live = _live([key for key in keys if key not in kept])
    if live is None:
        return {key: TurnPlace.KEPT if key in kept else TurnPlace.UNKNOWN for key in keys}
    return {
        key: TurnPlace.KEPT if key in kept else TurnPlace.LIVE if key in live else TurnPlace.GONE
        for key in keys
    }


def _kept(keys: Collection[TurnKey]) -> set[TurnKey]:
    names = {f"{name}__in": {getattr(key, name) for key in keys} for name in _TURN}
    return {TurnKey(*row) for row in AgentCallRecord.objects.filter(**names).values_list(*_TURN)}


def _live(keys: Sequence[TurnKey]) -> set[TurnKey] | None:
    """Those that the buffer still has, or None when it does not answer."""
    hands: dict[tuple[str, int], list[str]] = {}
    for key in keys:
        agents = hands.setdefault((key.table_id, key.hand_number), [])
        agents += [] if key.agent_id in agents else [key.agent_id]
    try:
        lives = Buffer.connect().lives(hands)
    except BufferUnavailable:
        return None
    return {TurnKey(*seat, index) for seat, life in lives.items() for index in life.indexes}
