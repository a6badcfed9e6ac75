"""Giving verdicts by the page: who may, what comes back, and the list."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from playwright.sync_api import expect

from capture import verdicts
from capture.models import AgentVerdict
from capture_sdk.records import TurnKey
from tests.build import HAND, TABLE, fall_back, play, seat
from tests.viewer.conftest import LogIn, Look
from tests.viewer.test_browser import CONTRAST, sideways
from tests.viewer.test_pages import HOSTILE, text
from viewer.why.judged import judged

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/agent-capture/verdicts"


def post_to(agent: str = "river-rat", index: int = 1, table: str = TABLE) -> str:
    where = {"tableId": table, "handNumber": HAND, "agentId": agent, "actionIndex": index}
    return f"/agent-capture/verdict?{urlencode(where)}"


def shown(log_in: LogIn, url: str = LIST) -> str:
    return text(log_in("vera").get(url).content.decode())


def test_a_verdict_leads_back_to_its_turn(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    vera = log_in("vera")
    answer = vera.post(post_to(), {"verdict": "memory", "note": "the log\r\nis empty"})
    assert answer.status_code == 302
    where, _, anchor = answer["Location"].partition("#")
    assert f'id="{anchor}"'.encode() in vera.get(where).content
    row = AgentVerdict.objects.get()
    assert (row.agent_id, row.verdict, row.note, row.by) == (
        "river-rat",
        "memory",
        "the log\nis empty",
        "vera",
    )


def test_a_note_that_is_too_long_is_refused_and_not_lost(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    answer = log_in("vera").post(post_to(), {"verdict": "memory", "note": "y" * 2_001})
    assert answer.status_code == 400
    assert "a note has at most 2,000 characters, and this one 2,001" in text(answer.content.decode())
    assert b"y" * 2_001 in answer.content
    assert not AgentVerdict.objects.exists()


@pytest.mark.parametrize("fields", [{}, {"verdict": "bad"}, {"verdict": "fine", "note": "a\x00"}])
def test_what_is_no_verdict_is_refused(buffer: Any, log_in: LogIn, fields: dict[str, str]) -> None:
    play(seat(), 1)
    assert log_in("vera").post(post_to(), fields).status_code == 400


def test_a_turn_that_nobody_knows_gets_no_verdict(buffer: Any, log_in: LogIn) -> None:
    assert log_in("vera").post(post_to(), {"verdict": "fine"}).status_code == 404
    assert log_in("vera").post("/agent-capture/verdict?tableId=t", {"verdict": "fine"}).status_code == 400


def test_a_turn_that_went_or_fell_back_still_gets_one(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    fall_back(seat(), 2)
    buffer.flushall()
    for index in (1, 2):
        assert log_in("vera").post(post_to(index=index), {"verdict": "fine"}).status_code == 302


@pytest.mark.parametrize(("who", "status"), [("vera", 302), ("sam", 403), ("olga", 403)])
def test_a_verdict_asks_for_the_right_to_see(buffer: Any, log_in: LogIn, who: str, status: int) -> None:
    play(seat(), 1)
    assert log_in(who).post(post_to(), {"verdict": "fine"}).status_code == status
    assert log_in(who).get(LIST).status_code == (200 if status == 302 else status)


def test_a_verdict_needs_the_forms_token_and_no_link_gives_one(buffer: Any, cast: Any) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast["vera"])
    assert strict.post(post_to(), {"verdict": "fine"}).status_code == 403
    assert strict.get(post_to()).status_code == 405


def test_the_list_says_when_the_turn_itself_is_gone(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    verdicts.give(TurnKey(TABLE, HAND, "river-rat", 1), "memory", note=HOSTILE[:60], by="kim")
    assert "LIVE" in shown(log_in)
    buffer.flushall()
    page = shown(log_in)
    assert "GONE the turn itself is no longer there" in page
    assert "<script>alert(1)</script>" in page


def test_the_list_is_narrowed_and_paged_by_its_address(buffer: Any, log_in: LogIn) -> None:
    for index in range(51):
        verdicts.give(TurnKey(TABLE, HAND, "a b&c", index), "clamp", note="", by="kim")
    verdicts.give(TurnKey(TABLE, HAND, "other", 99), "fine", note="", by="vera")
    first = log_in("vera").get(LIST, {"verdict": "clamp", "agent": "a b&c", "by": "kim"}).content.decode()
    assert first.count(f"{TABLE}:{HAND} #") == 50
    older = first.split('href="?')[1].split('"')[0].replace("&amp;", "&")
    assert "agent=a+b%26c" in older
    second = log_in("vera").get(f"{LIST}?{older}").content.decode()
    assert second.count(f"{TABLE}:{HAND} #") == 1
    assert "other" not in text(second).split("When")[1]


@pytest.mark.parametrize("query", ["verdict=bad", "agent=%00", "by=" + "x" * 300, "before=x"])
def test_a_filter_that_is_none_is_refused(log_in: LogIn, query: str) -> None:
    assert log_in("vera").get(f"{LIST}?{query}").status_code == 400


def test_a_card_has_ones_own_verdict_pressed_and_everybodys_in_order(db: None) -> None:
    key = TurnKey(TABLE, HAND, "a", 1)
    for by, kind in (("vera", "memory"), ("kim", "fine"), ("vera", "clamp")):
        verdicts.give(key, kind, note=f"by {by}", by=by)
    card = judged(key, verdicts.of_hand(TABLE, HAND), by="vera")
    assert [str(each.kind) for each in card.choices if each.is_mine] == ["clamp"]
    assert card.note == "by vera"
    assert [(each.by, each.holds) for each in card.said or ()] == [
        ("vera", True),
        ("kim", True),
        ("vera", False),
    ]
    assert judged(key, None, by="vera").said is None
    assert judged(TurnKey(TABLE, HAND, "a", 2), verdicts.of_hand(TABLE, HAND), by="vera").said == ()


@pytest.mark.parametrize("javascript", [True, False])
@pytest.mark.parametrize("table", [TABLE, "line\nend", "a&b=c #1"])
def test_by_mouse_with_a_note_and_changed_again(
    buffer: Any, look: Look, javascript: bool, table: str
) -> None:
    play(seat(table_id=table), 1)
    why = post_to(table=table).replace("/verdict?", "/compare?")
    page = look("vera", why, java_script_enabled=javascript)
    page.get_by_text("Note", exact=True).click()
    page.get_by_label("Note, up to 2000").fill("\n<b>empty</b> log\nsince 3 \u202e")
    page.get_by_role("button", name="memory").click()
    expect(page.locator(".messagelist")).to_contain_text("Your verdict on 1: memory")
    page.goto(why)
    expect(page.locator("ul.said pre")).to_have_text("<b>empty</b> log\nsince 3 U+202E")


def test_a_changed_verdict_stays_in_sight(buffer: Any, look: Look) -> None:
    play(seat(), 1)
    why = post_to().replace("/verdict?", "/compare?")
    page = look("vera", why, java_script_enabled=False)
    for kind in ("memory", "fine"):
        page.get_by_role("button", name=kind).click()
        page.goto(why)
    expect(page.locator("form.verdict [aria-pressed=true]")).to_have_text("✓ fine")
    said = page.locator("ul.said li")
    expect(said).to_have_text([re.compile("^fine vera"), re.compile("memory vera.*changed since", re.DOTALL)])


def test_by_keyboard(buffer: Any, look: Look) -> None:
    play(seat(), 1)
    page = look("vera", post_to().replace("/verdict?", "/compare?"))
    page.get_by_role("button", name="clamp").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".messagelist")).to_contain_text("Your verdict on 1: clamp")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_list_fits_and_is_readable(buffer: Any, look: Look, scheme: str, width: int) -> None:
    for index, kind in enumerate(("memory", "fine")):
        verdicts.give(TurnKey("t" * 200, HAND, "a" * 200, index), kind, note="n" * 500, by="vera")
    page = look("vera", LIST, width=width, color_scheme=scheme)
    assert sideways(page) == 0
    assert page.evaluate(CONTRAST)["worst"] >= 4.5
    page.get_by_label("Verdict").select_option("fine")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr")).to_have_count(1)
