"""Search text: derived, bounded, whole after any rebuild, and never in the way of a pin."""

import itertools
import json
import string
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.core.management import call_command
from django.db import OperationalError, connection, transaction

from capture import search, texts
from capture.limits import MIB, SEARCH_TEXT_BYTES
from capture.models import AgentCallEnvelope, AgentCallRecord, AgentSearchText
from capture.pin import promote
from capture.search import index_pending, pending, rebuild
from tests.build import ENVELOPE, HAND, REMAINDER, TABLE, play, seat

pytestmark = pytest.mark.django_db

# Three words in eight bytes, none of them twice: nothing was found that costs a tsvector more for its size.
_WORDS = map("".join, itertools.product(string.ascii_lowercase + string.digits, repeat=3))
MANY_WORDS = " ".join(f"{one}-{other}" for one, other in itertools.pairwise(itertools.islice(_WORDS, 40_000)))
LONG = MANY_WORDS + " " + " ".join(f"{number}x-{number}y" for number in range(10**6, 10**6 + 10_000))


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


def test_each_part_has_its_text_and_an_envelope_has_it_once(buffer: Any) -> None:
    keep(1, reasoning="because", response="fold", knowledge={"näme": "♠"})
    keep(2, reasoning="because", response="fold", knowledge={"näme": "♠"})
    assert (index_pending(10), pending()) == (2, 0)
    wanted = {"response": "fold", "reasoning": "because", "knowledge": '{"näme": "♠"}'}
    assert parts() == wanted | {"prompt": REMAINDER, "envelope": ENVELOPE}
    assert AgentSearchText.objects.filter(part="envelope").count() == 1


def test_what_was_not_captured_has_no_text(buffer: Any) -> None:
    at = seat("a")
    with at.turn(1) as turn:
        turn.response("")
    assert at.client.flush(5)
    promote(TABLE, HAND, agent_id="a", by="test")
    index_pending(10)
    assert parts() == {"prompt": "", "response": ""}


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


@pytest.mark.parametrize("text", ["nul\x00end", "half \ud83d end", b"\xff\x00end"])
def test_what_a_text_column_refuses_is_replaced(buffer: Any, text: str | bytes) -> None:
    keep(envelope=text, remainder=text, response=text)
    assert index_pending(1) == 1
    found = parts()
    assert {found[part][-3:] for part in ("envelope", "prompt", "response")} == {"end"}
    assert not any("\x00" in each for each in found.values())


@pytest.mark.parametrize("letter", ["x", "ä", "♠", "🂡", "\x00", "\ud83d"])
def test_a_long_text_ends_at_the_limit_between_two_characters(buffer: Any, letter: str) -> None:
    keep(remainder="ab" + letter * MIB, response="short")
    index_pending(1)
    text = AgentSearchText.objects.get(part="prompt")
    assert SEARCH_TEXT_BYTES - 4 < len(text.text.encode()) <= SEARCH_TEXT_BYTES
    assert (text.is_cut, len(set(text.text[2:]))) == (True, 1)
    assert not AgentSearchText.objects.get(part="response").is_cut


def test_a_text_just_as_long_as_the_limit_is_whole(buffer: Any) -> None:
    keep(response="x" * SEARCH_TEXT_BYTES)
    index_pending(1)
    text = AgentSearchText.objects.get(part="response")
    assert (len(text.text), text.is_cut) == (SEARCH_TEXT_BYTES, False)


def test_the_most_words_that_fit_into_the_limit_are_indexed_whole(buffer: Any) -> None:
    keep(response=MANY_WORDS[:SEARCH_TEXT_BYTES])
    index_pending(1)
    text = AgentSearchText.objects.get(part="response")
    assert (len(text.text), text.is_cut) == (SEARCH_TEXT_BYTES, False)


def test_a_text_that_postgres_refuses_is_cut_until_it_fits(
    buffer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "SEARCH_TEXT_BYTES", MIB)
    keep(response=LONG, remainder=LONG, reasoning="because")
    assert (index_pending(1), pending()) == (1, 0)
    text = AgentSearchText.objects.get(part="response")
    assert (len(text.text), text.is_cut) == (len(LONG) // 2, True)
    assert LONG.startswith(text.text)
    assert parts()["reasoning"] == "because"


def test_the_refusal_is_postgres_own(buffer: Any) -> None:
    with pytest.raises(OperationalError, match="too long for tsvector"), transaction.atomic():
        AgentSearchText.objects.create(env_hash="e" * 64, part="envelope", text=LONG, is_cut=False)


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


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("work", ["index", "rebuild", "both"])
def test_two_at_once_leave_every_turn_with_its_text_once(buffer: Any, work: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(search, "SEARCH_BATCH_TURNS", 3)
    for index in range(20):
        play(seat("a"), index, envelope=f"{ENVELOPE}{index % 4}")
    promote(TABLE, HAND, agent_id="a", by="test")

    def run(place: int) -> int:
        try:
            return anew() if work == "rebuild" or (work == "both" and place) else index_pending(100)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(3)))
    assert pending() == 0
    assert AgentSearchText.objects.filter(part="prompt").count() == 20
    assert AgentSearchText.objects.filter(part="envelope").count() == 4
