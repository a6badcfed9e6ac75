"""Search text: derived, bounded, whole after any rebuild, and never in the way of a pin."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.core.management import call_command
from django.db import connection

from capture.limits import MIB
from capture.models import AgentCallEnvelope, AgentCallRecord, AgentSearchText
from capture.pins.pin import promote
from capture.search import index as search
from capture.search.index import index_pending, pending, rebuild
from tests.build import ENVELOPE, HAND, TABLE, play, seat

pytestmark = pytest.mark.django_db


def keep(index: int = 1, agent: str = "a", **options: Any) -> None:
    play(seat(agent), index, **options)
    promote(TABLE, HAND, agent_id=agent, by="test")


def parts() -> dict[str, str]:
    """Every text by its part; for hands of one turn."""
    return dict(AgentSearchText.objects.values_list("part", "text"))


def all_texts() -> list[tuple[Any, ...]]:
    rows = AgentSearchText.objects.values_list("record_id", "env_hash", "part", "text", "is_cut")
    return sorted(rows, key=repr)


def anew() -> int:
    return rebuild(on_turns=lambda turns: None)


def test_a_pin_writes_no_text_and_is_pending(buffer: Any) -> None:
    keep()
    assert not AgentSearchText.objects.exists()
    assert pending() == 1


def test_only_so_many_turns_are_indexed_at_once(buffer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SEARCH_BATCH_TURNS", 2)
    for index in range(7):
        keep(index)
    assert [index_pending(3), pending(), index_pending(3), index_pending(3), index_pending(3)] == [
        3,
        4,
        3,
        1,
        0,
    ]


def test_a_turn_that_cannot_be_read_is_not_tried_for_ever(buffer: Any) -> None:
    keep(1)
    keep(2)
    AgentCallRecord.objects.filter(action_index=1).update(record=b"\x01damaged")
    assert (index_pending(10), pending(), index_pending(10)) == (2, 0, 0)
    assert list(AgentSearchText.objects.filter(record__action_index=1).values_list("part", "text")) == [
        ("prompt", "")
    ]


def test_an_envelope_that_comes_after_its_turn_is_indexed_too(buffer: Any) -> None:
    keep()
    row = AgentCallEnvelope.objects.get()
    AgentCallEnvelope.objects.all().delete()
    index_pending(10)
    assert "envelope" not in parts()
    row.save(force_insert=True)
    assert index_pending(10) == 0
    assert parts()["envelope"] == ENVELOPE


def test_a_rebuild_gives_the_same_and_drops_what_belongs_to_nothing(buffer: Any) -> None:
    for index, agent in itertools.product(range(3), "ab"):
        keep(index, agent)
    index_pending(100)
    before = all_texts()
    AgentSearchText.objects.filter(part="prompt").update(text="spoiled")
    AgentSearchText.objects.create(env_hash="f" * 64, part="envelope", text="of nothing", is_cut=False)
    assert (anew(), all_texts()) == (6, before)
    assert (anew(), all_texts()) == (6, before)


def test_a_rebuild_goes_in_chunks(buffer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SEARCH_BATCH_TURNS", 2)
    for index in range(5):
        keep(index)
    chunks: list[int] = []
    assert rebuild(on_turns=chunks.append) == 5
    assert chunks == [2, 2, 1]


def test_a_deleted_turn_takes_its_text_with_it(buffer: Any) -> None:
    keep()
    index_pending(1)
    AgentCallRecord.objects.all().delete()
    assert set(parts()) == {"envelope"}


def test_the_words_are_found(buffer: Any) -> None:
    keep(response="I shove all-in with aces")
    index_pending(1)
    rows = AgentSearchText.objects.annotate(words=SearchVector("text", config="simple"))
    found = rows.filter(words=SearchQuery("aces", config="simple"))
    assert [row.part for row in found] == ["response"]


def test_the_command_tells_what_it_made(buffer: Any) -> None:
    keep(response="x" * MIB)
    out = StringIO()
    call_command("rebuild_search", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"turns": 1, "envelopes": 1, "cut": 1, "pending": 0}


def index_or_rebuild(work: str, place: int) -> int:
    """One of several threads."""
    try:
        return anew() if work == "rebuild" or (work == "both" and place) else index_pending(100)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("work", ["index", "rebuild", "both"])
def test_two_at_once_leave_every_turn_with_its_text_once(buffer: Any, work: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(search, "SEARCH_BATCH_TURNS", 3)
    for index in range(20):
        play(seat("a"), index, envelope=f"{ENVELOPE}{index % 4}")
    promote(TABLE, HAND, agent_id="a", by="test")
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(partial(index_or_rebuild, work), range(3)))
    assert pending() == 0
    assert AgentSearchText.objects.filter(part="prompt").count() == 20
    assert AgentSearchText.objects.filter(part="envelope").count() == 4
