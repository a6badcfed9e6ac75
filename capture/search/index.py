"""The text to search in: derived from what is pinned, made apart from it, and made anew at any time.

A pin writes none of it, so that nothing here can fail or slow a pin. ``index_pending`` gives pinned turns their text
afterwards, ``rebuild`` makes all of it again. Of each turn: ``prompt`` (its remainder), ``response``, ``knowledge`` and
``reasoning``, where they were captured; of each envelope, once per hash: ``envelope``.

Two at once share the work: a turn that one of them has locked is left out by the other.
"""

from collections.abc import Callable, Iterable

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from capture.limits import SEARCH_BATCH_TURNS
from capture.models import AgentCallEnvelope, AgentCallRecord, AgentSearchText
from capture.pins.reading import body_of
from capture.pins.walking import fetched, sizes
from capture.search.texts import envelope_text, insert_texts, turn_texts

_OF_TURN = AgentSearchText.objects.filter(record=OuterRef("pk"))
_OF_ENVELOPE = AgentSearchText.objects.filter(env_hash=OuterRef("env_hash"))


def pending() -> int:
    """How many pinned turns have no text yet."""
    return unindexed().count()


def index_pending(limit: int) -> int:
    """Index at most ``limit`` pinned turns without text, the newest first, and their envelopes; returns how many turns.

    A turn that cannot be read gets an empty text, so that it is not tried for ever. 0 means that nothing is left, or
    that what is left is in somebody else's hands.
    """
    done = 0
    while (batch := min(limit - done, SEARCH_BATCH_TURNS)) > 0:
        indexed = _index(unindexed().order_by("-id")[:batch], anew=False)
        done += indexed
        if indexed < batch:
            _index_envelopes(limit)
            break
    return done


def rebuild(*, on_turns: Callable[[int], object]) -> int:
    """Make all text anew, turn by turn, while it can be searched; returns how many turns have some now.

    ``on_turns`` is told how many were done. What is pinned meanwhile is met too.
    """
    done, last = 0, 0
    while batch := _next(last):
        indexed = _index(AgentCallRecord.objects.filter(id__in=batch).order_by("id"), anew=True)
        on_turns(len(batch))
        done, last = done + indexed, batch[-1]
    _rebuild_envelopes()
    return done


def unindexed() -> QuerySet[AgentCallRecord]:
    """Pinned turns that have no text yet."""
    return AgentCallRecord.objects.filter(~Exists(_OF_TURN))


def _next(last: int) -> list[int]:
    rows = AgentCallRecord.objects.filter(id__gt=last).order_by("id")
    return list(rows.values_list("id", flat=True)[:SEARCH_BATCH_TURNS])


def _index(rows: QuerySet[AgentCallRecord], *, anew: bool) -> int:
    """Index these turns in one transaction, locked first: none is deleted before its text is there, none done twice.

    Their envelopes follow, each by itself: whoever holds several at once could wait for another in a ring.
    """
    needed: set[str] = set()
    with transaction.atomic():
        # The newest gets the last text: a search shows it first.
        sized = sorted(sizes(rows.select_for_update(no_key=True, skip_locked=not anew)))
        if anew:
            AgentSearchText.objects.filter(record__in=[each for each, _ in sized]).delete()
        for chunk in fetched(sized):
            insert_texts([text for row in chunk for text in turn_texts(row)])
            needed |= {row.env_hash for row in chunk if row.env_hash}
    _add_envelopes(_missing_envelopes(needed))
    return len(sized)


def _index_envelopes(limit: int) -> None:
    """Those that came to the store after the turn that needs them had its text."""
    late = AgentCallEnvelope.objects.filter(~Exists(_OF_ENVELOPE)).order_by("env_hash")
    hashes = late.values_list("env_hash", flat=True).distinct()[:limit]
    _add_envelopes(sorted(hashes))


def _missing_envelopes(hashes: set[str]) -> list[str]:
    known = AgentSearchText.objects.filter(env_hash__in=hashes).values_list("env_hash", flat=True)
    return sorted(hashes.difference(known))


def _add_envelopes(hashes: Iterable[str]) -> None:
    """One by one: each may take 64 MB."""
    for env_hash in hashes:
        row = AgentCallEnvelope.objects.filter(env_hash=env_hash).first()
        if row is not None:
            insert_texts([envelope_text(env_hash, body_of(row))])


def _rebuild_envelopes() -> None:
    """Anew as well, and what belongs to no envelope any more goes."""
    kept = AgentCallEnvelope.objects.filter(env_hash=OuterRef("env_hash"))
    for orphan in AgentSearchText.objects.filter(~Exists(kept), env_hash__isnull=False).only("id"):
        orphan.delete()
    last = ""
    while hashes := _next_hashes(last):
        for env_hash in hashes:
            with transaction.atomic():
                AgentSearchText.objects.filter(env_hash=env_hash).delete()
                _add_envelopes([env_hash])
        last = hashes[-1]


def _next_hashes(last: str) -> list[str]:
    rows = AgentCallEnvelope.objects.filter(env_hash__gt=last).order_by("env_hash")
    return list(rows.values_list("env_hash", flat=True).distinct()[:SEARCH_BATCH_TURNS])
