"""Full-text search over what is pinned, with Postgres's own search, and what it did not reach."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db import OperationalError, connection, transaction
from django.db.models import F, Func, IntegerField, Q, QuerySet
from psycopg.errors import QueryCanceled

from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable
from capture.limits import (
    FIND_LENGTH,
    SEARCH_NOW_TURNS,
    SEARCH_PENDING_COUNTED,
    SEARCH_SECONDS,
    SEARCH_WALK_BYTES,
    SEARCH_WALK_TEXTS,
)
from capture.models import AgentCallRecord, AgentSearchText
from capture.search.excerpts import Stretch, excerpt, words_of
from capture.search.index import index_pending, unindexed
from capture_sdk.records import TurnKey

Answer = TypeVar("Answer")


class SearchRefused(ValueError):
    """The query cannot be asked; the message names what is wrong and what is wanted."""


class SearchTooLong(Exception):
    """Postgres had not answered in the time that a search may take. Nothing is known of what there is."""


class TextPart(StrEnum):
    """Where a text may stand. An envelope is searched once, however many turns share it."""

    PROMPT = "prompt"
    RESPONSE = "response"
    KNOWLEDGE = "knowledge"
    REASONING = "reasoning"
    ENVELOPE = "envelope"


@dataclass(frozen=True, slots=True)
class Hit:
    """A part of a pinned turn in which the words stand. For an envelope, the newest of ``turns`` that share it.

    ``is_cut``: the searchable text ends before the part does.
    """

    key: TurnKey
    part: TextPart
    stretches: tuple[Stretch, ...]
    is_cut: bool
    turns: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a page; ``next_cursor`` leads to those after them.

    ``unindexed`` counts pinned turns that are not searchable yet, at most ``SEARCH_PENDING_COUNTED``.
    """

    hits: tuple[Hit, ...]
    next_cursor: int | None
    unindexed: int


def find_text(
    query: str,
    *,
    agent_id: str | None = None,
    part: TextPart | None = None,
    limit: int,
    cursor: int | None = None,
) -> Found:
    """Where all of a query's words stand in one part of a pinned turn: at most ``limit`` texts.

    What was made searchable last comes first: with turns that are searched soon after they are kept, the newest.

    ``query`` is in web search form: words, "a phrase", ``or``, ``-without``. The newest pinned turns that have no
    searchable text yet are given theirs first. Raises SearchRefused, SearchTooLong and StoresUnavailable.
    """
    _check(query)
    try:
        ask(lambda: index_pending(SEARCH_NOW_TURNS))
        rows = ask(
            lambda: _in_time(lambda: _newest(_texts(query, agent_id, part, cursor), cursor, limit + 1))
        )
        hits = ask(lambda: _in_time(lambda: [_hit(row, query, agent_id) for row in rows[:limit]]))
        left = ask(lambda: _in_time(unindexed()[:SEARCH_PENDING_COUNTED].count))
    except DurableUnavailable as exc:
        if isinstance(exc.__cause__, OperationalError) and isinstance(exc.__cause__.__cause__, QueryCanceled):
            raise SearchTooLong(f"stopped after {SEARCH_SECONDS:g} s") from exc
        raise StoresUnavailable("the durable store is unavailable") from exc
    next_cursor = rows[limit - 1].pk if len(rows) > limit else None
    return Found(tuple(hit for hit in hits if hit is not None), next_cursor, left)


def _check(query: str) -> None:
    if len(query) > FIND_LENGTH:
        raise SearchRefused(f"A search has at most {FIND_LENGTH} characters, and this one {len(query):,}")
    if "\x00" in query or any("\ud800" <= character <= "\udfff" for character in query):
        raise SearchRefused("A search cannot hold NUL or half a surrogate pair: no searchable text does")
    if not words_of(query):
        raise SearchRefused(f"Name a word to look for: {query[:40]!r} has none, or only words to leave out")


_VECTOR: Final = SearchVector("text", config="simple")  # as the index has it


def _texts(
    query: str, agent_id: str | None, part: TextPart | None, cursor: int | None
) -> QuerySet[AgentSearchText]:
    asked = SearchQuery(query, config="simple", search_type="websearch")
    texts = AgentSearchText.objects.alias(words=_VECTOR).filter(words=asked)
    texts = texts.select_related("record").defer("record__record")
    if agent_id is not None:
        of_agent = AgentCallRecord.objects.filter(agent_id=agent_id)
        shared = of_agent.filter(env_hash__isnull=False).values("env_hash")
        texts = texts.filter(Q(record__agent_id=agent_id) | Q(env_hash__in=shared))
    if part is not None:
        texts = texts.filter(part=part)
    return texts if cursor is None else texts.filter(id__lt=cursor)


def _newest(texts: QuerySet[AgentSearchText], cursor: int | None, count: int) -> list[AgentSearchText]:
    """The last ``count`` of ``texts``: a frequent word stands among the newest, a rare one is found by the index.

    The planner takes a text's words for cheap to make: left to itself it makes those of every text there is.
    """
    near = AgentSearchText.objects.all() if cursor is None else AgentSearchText.objects.filter(id__lt=cursor)
    floor, is_all = _reach(near)
    found = list(texts.filter(id__gte=floor).order_by("-id")[:count])
    if is_all or len(found) == count:
        return found
    with connection.cursor() as settings:
        settings.execute("SET LOCAL enable_seqscan = off")
        settings.execute("SET LOCAL enable_indexscan = off")
    # The sum is no order of the primary key's: all that has the words is fetched by them, and then sorted.
    return list(texts.order_by((F("id") + 0).desc())[:count])


def _reach(near: QuerySet[AgentSearchText]) -> tuple[int, bool]:
    """The id down to which the newest texts are read one by one, and whether those are all."""
    sizes = near.order_by("-id").values_list("id", OctetLength("text"))
    floor = total = seen = 0
    for text_id, size in sizes[:SEARCH_WALK_TEXTS]:
        total, seen = total + size, seen + 1
        if total > SEARCH_WALK_BYTES and floor:
            return floor, False
        floor = text_id
    return floor, seen < SEARCH_WALK_TEXTS


class OctetLength(Func):
    """Bytes of a text, which Postgres tells without reading it."""

    function = "octet_length"
    output_field = IntegerField()


def _hit(row: AgentSearchText, query: str, agent_id: str | None) -> Hit | None:
    """None for an envelope whose last turn was deleted meanwhile."""
    record, turns = row.record, 1
    if record is None:
        sharing = AgentCallRecord.objects.filter(env_hash=row.env_hash)
        sharing = sharing if agent_id is None else sharing.filter(agent_id=agent_id)
        record, turns = sharing.order_by("-id").defer("record").first(), sharing.count()
        if record is None:
            return None
    key = TurnKey(record.table_id, record.hand_number, record.agent_id, record.action_index)
    return Hit(key, TextPart(row.part), excerpt(row.text, query), row.is_cut, turns)


def _in_time(read: Callable[[], Answer]) -> Answer:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, true)", [str(int(SEARCH_SECONDS * 1_000))]
            )
        return read()
