"""Verdicts: given once, changed as often as wanted, and there for longer than their turns."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from capture import verdicts
from capture.durable import DurableUnavailable
from capture.hands import StoresUnavailable
from capture.models import AgentVerdict, VerdictKind
from capture.pins.pin import promote
from capture.verdicts import TurnPlace, VerdictFilter, VerdictRefused, give, latest, of_hand
from capture_sdk.records import TurnKey
from tests.build import HAND, TABLE, play, seat

pytestmark = pytest.mark.django_db

KEY = TurnKey(TABLE, HAND, "river-rat", 1)


def listed(**wanted: Any) -> list[tuple[str, str]]:
    """Who said what, as the list has it."""
    page = latest(VerdictFilter(**wanted), limit=50)
    return [(each.by, str(each.kind)) for each, _ in page.verdicts]


def test_a_verdict_is_kept_with_who_said_it_and_when() -> None:
    given = give(KEY, "memory", note="the log is empty", by="vera")
    assert of_hand(TABLE, HAND) == (given,)
    assert (given.key, given.kind, given.note, given.by) == (
        KEY,
        VerdictKind.MEMORY,
        "the log is empty",
        "vera",
    )
    assert given.at.tzinfo is not None


def test_a_changed_verdict_leaves_the_earlier_one_as_history() -> None:
    give(KEY, "memory", note="", by="vera")
    give(KEY, "strategy", note="looked again", by="vera")
    found = of_hand(TABLE, HAND) or ()
    assert [(str(each.kind), each.holds) for each in found] == [("memory", False), ("strategy", True)]
    assert listed() == [("vera", "strategy")]


def test_two_people_may_disagree() -> None:
    give(KEY, "memory", note="", by="vera")
    give(KEY, "fine", note="", by="kim")
    assert listed() == [("kim", "fine"), ("vera", "memory")]
    assert all(each.holds for each in of_hand(TABLE, HAND) or ())


def test_the_same_again_adds_nothing() -> None:
    first = give(KEY, "clamp", note="x", by="vera")
    assert give(KEY, "clamp", note="x", by="vera") == first
    assert AgentVerdict.objects.count() == 1


@pytest.mark.parametrize("kind", ["", "Memory", "bad", "memory\n", "x" * 1_000_000])
def test_what_is_no_verdict_is_refused_by_name(kind: str) -> None:
    with pytest.raises(VerdictRefused, match="one of strategy, memory, clamp, fine, not"):
        give(KEY, kind, note="", by="vera")
    assert AgentVerdict.objects.count() == 0


@pytest.mark.parametrize("note", ["x" * 2_001, "a\x00b", "half \ud83d"])
def test_a_note_that_cannot_be_kept_is_refused_and_says_why(note: str) -> None:
    with pytest.raises(VerdictRefused, match="a note"):
        give(KEY, "fine", note=note, by="vera")


@pytest.mark.parametrize("note", ["x" * 2_000, "</pre><script>\u202e'\"--", "a\nb", "\U0001f600" * 2_000, ""])
def test_any_other_note_is_kept_as_it_is(note: str) -> None:
    give(KEY, "fine", note=note, by="vera")
    assert [each.note for each in of_hand(TABLE, HAND) or ()] == [note]


def test_line_ends_of_a_form_count_once() -> None:
    assert give(KEY, "fine", note="a\r\n" * 1_000, by="vera").note == ("a\n" * 1_000).strip()


def test_the_list_is_narrowed_by_verdict_agent_and_person() -> None:
    other = TurnKey(TABLE, HAND, "tight-tina", 2)
    give(KEY, "memory", note="", by="vera")
    give(other, "clamp", note="", by="vera")
    give(other, "memory", note="", by="kim")
    assert listed(kind=VerdictKind.MEMORY) == [("kim", "memory"), ("vera", "memory")]
    assert listed(agent_id="tight-tina") == [("kim", "memory"), ("vera", "clamp")]
    assert listed(by="vera", agent_id="tight-tina") == [("vera", "clamp")]
    assert listed(by="nobody") == []


def test_a_verdict_that_was_changed_is_not_found_by_what_it_was() -> None:
    give(KEY, "memory", note="", by="vera")
    give(KEY, "fine", note="", by="vera")
    assert listed(kind=VerdictKind.MEMORY) == []


def test_the_pages_have_every_verdict_once_while_new_ones_come() -> None:
    for index in range(7):
        give(TurnKey(TABLE, HAND, "a", index), "fine", note="", by="vera")
    seen: list[int] = []
    cursor = None
    for _ in range(4):
        page = latest(limit=2, cursor=cursor)
        seen += [each.key.action_index for each, _ in page.verdicts]
        cursor = page.next_cursor
        give(TurnKey(TABLE, HAND, "new", len(seen)), "clamp", note="", by="kim")
    assert seen == [6, 5, 4, 3, 2, 1, 0]
    assert cursor is None


def test_each_says_whether_its_turn_can_still_be_read(buffer: Any) -> None:
    for index, agent in enumerate(["kept", "live", "gone"]):
        play(seat(agent), index)
        give(TurnKey(TABLE, HAND, agent, index), "fine", note="", by="vera")
    promote(TABLE, HAND, agent_id="kept", by="test")
    buffer.delete(f"turn:{TABLE}:{HAND}:gone:2")
    places = [place for _, place in latest(limit=50).verdicts]
    assert places == [TurnPlace.GONE, TurnPlace.LIVE, TurnPlace.KEPT]


def test_without_the_buffer_it_is_not_called_gone(dead_buffer: None) -> None:
    give(KEY, "fine", note="", by="vera")
    assert [place for _, place in latest(limit=50).verdicts] == [TurnPlace.UNKNOWN]


def test_a_page_costs_a_fixed_number_of_queries(buffer: Any, django_assert_num_queries: Any) -> None:
    for index in range(30):
        give(TurnKey(f"table-{index}", HAND, "a", index), "fine", note="", by="vera")
    with django_assert_num_queries(2):
        latest(limit=50)


def test_without_the_database_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(read: Any) -> None:
        raise DurableUnavailable

    monkeypatch.setattr(verdicts, "ask", down)
    assert of_hand(TABLE, HAND) is None
    for read in (lambda: latest(limit=1), lambda: give(KEY, "fine", note="", by="vera")):
        with pytest.raises(StoresUnavailable):
            read()


@pytest.mark.django_db(transaction=True)
def test_a_double_click_is_one_verdict() -> None:
    together = Barrier(6)

    def click(index: int) -> int:
        connection.ensure_connection()
        together.wait(10)
        try:
            return give(TurnKey(TABLE, HAND, "a", index // 6), "fine", note="", by="vera").id
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(click, range(60)))) == 10


def test_the_admin_shows_verdicts_without_their_notes_and_lets_nobody_change_them() -> None:
    row = give(KEY, "fine", note="a secret plan", by="vera")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    for page in ("", f"{row.id}/change/"):
        shown = client.get(f"/admin/capture/agentverdict/{page}")
        assert shown.status_code == 200
        assert b"a secret plan" not in shown.content
    assert client.post(f"/admin/capture/agentverdict/{row.id}/delete/", {"post": "yes"}).status_code == 403
    assert (
        client.post(f"/admin/capture/agentverdict/{row.id}/change/", {"verdict": "clamp"}).status_code == 403
    )
