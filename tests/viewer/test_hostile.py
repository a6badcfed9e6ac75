"""Whatever an agent recorded, on every page that shows it: nothing runs, nothing is fetched, copies are exact."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from playwright.sync_api import Page, expect

from capture.ledger import record_charges
from tests.build import HAND, TABLE, play, seat
from tests.viewer.claims import record_everywhere
from tests.viewer.conftest import Look

pytestmark = pytest.mark.django_db(transaction=True)

MARKUP = "</pre></script><script>alert(1)</script><img src=//evil.test/x onerror=alert(2)>\"'&<svg/onload=alert(3)>"
STYLED = "<style>*{background:url(//evil.test/s)}</style><link rel=stylesheet href=//evil.test/c>![x](https://evil.test/i)"
DISGUISED = (
    "a\u202eb\u2066c\u200bd\x1b[31me\x07\x00f\ud83dg\ufeffh{{ 7*7 }}{% csrf_token %}javascript:alert(4)"
)
LONG = "<script>alert(5)</script>" * 40_000
CORPUS = {"markup": MARKUP, "styled": STYLED, "disguised": DISGUISED, "long": LONG}


def record(hostile: str) -> tuple[str, str]:
    """Two turns with the text in every field that there is; the queries of the hand and of the second turn.

    Ids end where an id's length does, and hold no NUL and no half surrogate.
    """
    word = hostile.replace("\x00", "").replace("\ud83d", "")[:150]
    at = seat(word, table_id=word, version=hostile[:5_000])
    for index in (1, 2):
        with at.turn(index) as turn:
            turn.knows(**{hostile: {hostile: [hostile, index]}})
            turn.prompt(hostile, f"{hostile}{index}")
            turn.attempt(hostile[:500], response=hostile, error=hostile)
            turn.response(hostile, reasoning=hostile, model=hostile, provider=hostile, routing=hostile)
            turn.parsed(hostile, hostile)
            turn.adjusted(hostile, hostile, hostile, hostile)
            at.outbox.send({"action": hostile, hostile: hostile})
        record_charges([turn.charge()])
    assert at.client.flush(10)
    hand = {"tableId": word, "handNumber": HAND}
    return urlencode(hand), urlencode(hand | {"agentId": word, "actionIndex": 2})


def pages(hand: str, turn: str) -> list[str]:
    return [
        "/agent-capture/?check=1",
        f"/agent-capture/hand?{hand}",
        f"/agent-capture/prompt?{turn}&find=alert",
        f"/agent-capture/compare?{turn}",
        "/agent-capture/search?action=nothing",
        f"/agent-capture/search?{urlencode({'agent': dict(parse_qsl(turn))['agentId']})}",
        "/agent-capture/charts?by=version",
        "/agent-capture/verdicts",
    ]


def watched(page: Page) -> list[str]:
    """Every request that the page makes from now on; a dialog fails the test."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    return asked


@pytest.mark.parametrize("name", list(CORPUS))
def test_nothing_recorded_runs_or_leaves(buffer: Any, look: Look, name: str) -> None:
    hand, turn = record(CORPUS[name])
    runs = record_everywhere(CORPUS[name], dict(parse_qsl(turn))["agentId"])
    page = look("vera", "/agent-capture/", is_own=True)
    asked, origin = watched(page), page.evaluate("location.origin")
    for address in [*pages(hand, turn), *(f"/agent-capture/{each}" for each in runs)]:
        answer = page.goto(address)
        assert answer is None or answer.ok, address
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        page.wait_for_load_state("networkidle")
        foreign = (
            "article img, article script, article style, article svg, article link, main img, pre script, "
            ".card img, .card script, .card style, .card svg, .card link"
        )
        assert page.locator(foreign).count() == 0
        assert page.evaluate("document.querySelectorAll('script:not([src])').length") == 0
    assert [url for url in asked if not url.startswith(origin)] == []


@pytest.mark.parametrize("name", ["markup", "styled", "long"])
def test_what_is_copied_of_it_is_what_is_stored(buffer: Any, look: Look, name: str) -> None:
    _, turn = record(CORPUS[name])
    page = look("vera", f"/agent-capture/hand?{turn}", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the response").click()
    expect(page.get_by_text("copied", exact=True).first).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == CORPUS[name]


def test_what_turns_or_hides_text_is_shown_by_its_code_point(buffer: Any, look: Look) -> None:
    hand, _ = record(DISGUISED)
    page = look("vera", f"/agent-capture/hand?{hand}")
    shown = page.locator("body").inner_text()
    assert not set(shown) & set("\u202e\u2066\u200b\x1b\x07\x00\ufeff")
    assert all(point in shown for point in ("U+202E", "U+2066", "U+200B", "U+001B", "U+0007", "U+FEFF"))


def test_a_table_of_that_name_is_found_again(buffer: Any, look: Look) -> None:
    play(seat(table_id=MARKUP), 1)
    page = look("vera", f"/agent-capture/hand?{urlencode({'tableId': MARKUP, 'handNumber': HAND})}")
    expect(page.locator("h1")).to_have_text(f"{MARKUP}:{HAND}")
    assert TABLE not in page.locator("h1").inner_text()
