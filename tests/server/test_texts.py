"""What becomes search text: replaced, bounded, and cut until Postgres takes it."""

import itertools
import string
from typing import Any

import pytest
from django.db import OperationalError, transaction

from capture.limits import MIB, SEARCH_TEXT_BYTES
from capture.models import AgentSearchText
from capture.pins.pin import promote
from capture.search import texts
from capture.search.index import index_pending, pending
from tests.build import ENVELOPE, HAND, REMAINDER, TABLE, play, seat

pytestmark = pytest.mark.django_db

# Three words in eight bytes, none of them twice: nothing was found that costs a tsvector more for its size.
_ASCII = string.ascii_lowercase + string.digits
_WORDS = [*map("".join, itertools.product(_ASCII, repeat=3))]
_WORDS += [
    word
    for letter in map(chr, range(0x430, 0x530))
    for each in _ASCII
    for word in (letter + each, each + letter)
]
MANY_WORDS = " ".join(f"{one}-{other}" for one, other in zip(_WORDS[::2], _WORDS[1::2], strict=True))
LONG = MANY_WORDS + " " + " ".join(f"{number}x-{number}y" for number in range(10**6, 10**6 + 10_000))


def keep(index: int = 1, agent: str = "a", **options: Any) -> None:
    play(seat(agent), index, **options)
    promote(TABLE, HAND, agent_id=agent, by="test")


def parts() -> dict[str, str]:
    """Every text by its part; for hands of one turn."""
    return dict(AgentSearchText.objects.values_list("part", "text"))


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
    assert SEARCH_TEXT_BYTES - 2_048 < len(MANY_WORDS.encode()) < SEARCH_TEXT_BYTES
    keep(response=MANY_WORDS)
    index_pending(1)
    text = AgentSearchText.objects.get(part="response")
    assert (text.text == MANY_WORDS, text.is_cut) == (True, False)


def test_a_text_that_postgres_refuses_is_cut_until_it_fits(
    buffer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "SEARCH_TEXT_BYTES", MIB)
    keep(response=LONG, remainder=LONG, reasoning="because")
    assert (index_pending(1), pending()) == (1, 0)
    text = AgentSearchText.objects.get(part="response")
    half = LONG.encode()[: len(LONG.encode()) // 2].decode("utf-8", "ignore")
    assert (text.text == half, text.is_cut) == (True, True)
    assert parts()["reasoning"] == "because"


def test_the_refusal_is_postgres_own(buffer: Any) -> None:
    with pytest.raises(OperationalError, match="too long for tsvector"), transaction.atomic():
        AgentSearchText.objects.create(env_hash="e" * 64, part="envelope", text=LONG, is_cut=False)
