"""Full-text search over what is kept: what it finds, where, and what it says it did not search."""

from typing import Any

import pytest
from django.db import connection

from capture.pins.pin import promote
from capture.search import finding
from capture.search.excerpts import excerpt, words_of
from capture.search.finding import SearchRefused, SearchTooLong, TextPart, find_text
from capture.search.live import Badge, LiveFilter, find_turns
from tests.build import HAND, TABLE, fall_back, play, seat

pytestmark = pytest.mark.django_db(transaction=True)


def keep(index: int, agent: str = "a", **options: Any) -> None:
    play(seat(agent), index, **options)
    promote(TABLE, HAND, agent_id=agent, by="test")


def places(query: str, **options: Any) -> list[tuple[str, int, str]]:
    hits = find_text(query, limit=20, **options).hits
    return sorted((hit.key.agent_id, hit.key.action_index, str(hit.part)) for hit in hits)


def test_each_part_is_found_where_it_stands_without_any_command_before(buffer: Any) -> None:
    keep(
        1,
        envelope="the envelope says walrus",
        remainder="the remainder says ocelot",
        response="the answer says badger",
        reasoning="the reasoning says heron",
        knowledge={"note": "they fear the lynx"},
    )
    found = {
        "walrus": "envelope",
        "ocelot": "prompt",
        "badger": "response",
        "heron": "reasoning",
        "lynx": "knowledge",
    }
    assert {word: places(word) for word in found} == {word: [("a", 1, part)] for word, part in found.items()}
    assert places("BADGER") == [("a", 1, "response")]
    assert places("badger", part=TextPart.PROMPT) == []
    assert places("zebra") == []


def test_a_query_is_read_as_a_web_search(buffer: Any) -> None:
    keep(1, response="raise because the river is dry")
    keep(2, response="fold because the river is wet")
    assert places("river dry", part=TextPart.RESPONSE) == [("a", 1, "response")]
    assert places('"the river is wet"', part=TextPart.RESPONSE) == [("a", 2, "response")]
    assert places("river -dry", part=TextPart.RESPONSE) == [("a", 2, "response")]
    assert len(places("dry or wet", part=TextPart.RESPONSE)) == 2


def test_an_envelope_comes_once_with_how_many_turns_share_it(buffer: Any) -> None:
    for index in (1, 2, 3):
        keep(index, envelope="shared by all: walrus")
    keep(4, "b", envelope="shared by all: walrus")
    (hit,) = find_text("walrus", limit=20).hits
    assert (hit.key.agent_id, hit.key.action_index, hit.turns) == ("b", 4, 4)
    (hit,) = find_text("walrus", agent_id="a", limit=20).hits
    assert (hit.key.agent_id, hit.key.action_index, hit.turns) == ("a", 3, 3)
    assert find_text("walrus", agent_id="c", limit=20).hits == ()


@pytest.mark.parametrize("walked", [{}, {"SEARCH_WALK_TEXTS": 5}, {"SEARCH_WALK_BYTES": 60}])
def test_page_after_page_each_hit_comes_once(
    buffer: Any, monkeypatch: pytest.MonkeyPatch, walked: dict[str, int]
) -> None:
    """Whether it stands among the texts that are read one by one, or is found by the index."""
    for name, value in walked.items():
        monkeypatch.setattr(finding, name, value)
    rat = seat("a")
    for index in range(1, 8):
        play(rat, index, response=f"badger {index}")
        play(rat, 10 + index, response="something else")
    promote(TABLE, HAND, agent_id="a", by="test")
    seen: list[int] = []
    cursor: int | None = None
    while True:
        page = find_text("badger", limit=3, cursor=cursor)
        seen += [hit.key.action_index for hit in page.hits]
        if (cursor := page.next_cursor) is None:
            break
    assert seen == list(range(7, 0, -1))


def test_what_has_no_text_yet_is_counted(buffer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "SEARCH_NOW_TURNS", 1)
    for index in (1, 2, 3):
        play(seat("a"), index, response="badger")
    promote(TABLE, HAND, agent_id="a", by="test")
    found = find_text("badger", limit=20)
    assert (len(found.hits), found.unindexed) == (1, 2)


def test_a_search_that_takes_too_long_is_stopped_and_nothing_else_is(
    buffer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(1, response="badger")
    find_text("badger", limit=1)

    def slow(*asked: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(5)")

    with monkeypatch.context() as patched:
        patched.setattr(finding, "SEARCH_SECONDS", 0.1)
        patched.setattr(finding, "_texts", slow)
        with pytest.raises(SearchTooLong, match=r"stopped after 0\.1 s"):
            find_text("badger", limit=1)
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)
    assert len(find_text("badger", limit=1).hits) == 1


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("-fold", "Name a word"),
        ("or", "Name a word"),
        ("a\x00b", "NUL"),
        ("\ud800", "surrogate"),
        ("x" * 201, "201"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(query: str, said: str) -> None:
    with pytest.raises(SearchRefused, match=said):
        find_text(query, limit=1)


def test_an_excerpt_is_the_text_as_it_stands_with_its_words_marked() -> None:
    text = "x " * 400 + "<b>the River</b> & the river" + " y" * 400
    shown = excerpt(text, 'river -dry "the"')
    assert "".join(each.text for each in shown).strip("… ") in text
    assert [each.text for each in shown if each.is_hit] == ["the", "River", "the", "river"]
    assert words_of('one -two -"three four" or five') == ["one", "five"]
    assert [each.is_hit for each in excerpt("nothing here", "elsewhere")] == [False]


def test_newest_turns_are_found_by_what_they_are(buffer: Any) -> None:
    rat, tina = seat("rat", version="v2"), seat("tina")
    play(rat, 1)
    play(rat, 2, parsed=("raise", 240), sent={"action": "raise", "amount": 200})
    play(tina, 3, parsed=("fold", None), model="gpt-other")
    fall_back(tina, 4)
    play(rat, 5)
    buffer.delete(*buffer.scan_iter("env:*"))

    def found(**wanted: Any) -> list[tuple[str, int]]:
        return [(hit.key.agent_id, hit.key.action_index) for hit in find_turns(LiveFilter(**wanted)).hits]

    assert found(agent_id="tina") == [("tina", 3), ("tina", 4)]
    assert found(agent_version_id="v2") == [("rat", 1), ("rat", 2), ("rat", 5)]
    assert found(model="gpt-other") == [("tina", 3)]
    assert found(badge=Badge.CLAMPED) == [("rat", 2)]
    assert found(badge=Badge.FALLBACK) == [("tina", 4)]
    assert found(badge=Badge.PROMPT_GONE, agent_id="rat") == [("rat", 1), ("rat", 2), ("rat", 5)]
    assert found(action="raise", agent_id="rat", badge=Badge.CLAMPED) == [("rat", 2)]
    assert found(action="check") == []
    everything = find_turns(LiveFilter())
    assert (everything.hands, everything.turns, everything.has_more, everything.buffer_ok) == (
        1,
        5,
        False,
        True,
    )
