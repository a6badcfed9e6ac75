"""The search page: for those who may, with what was not searched said, and content in no log."""

from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from capture.models import AgentAccess
from capture.pins.pin import promote
from tests.build import HAND, TABLE, fall_back, play, seat
from tests.viewer.conftest import LogIn, Look
from tests.viewer.test_browser import sideways
from tests.viewer.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def kept(buffer: Any) -> None:
    rat = seat()
    play(rat, 1, response="<b>raise</b> because the river is dry\u202e", envelope="be a walrus")
    play(rat, 2, parsed=("fold", None), response="fold", envelope="be a walrus")
    fall_back(rat, 3)
    promote(TABLE, HAND, agent_id="river-rat", by="test")


def url(**asked: Any) -> str:
    return f"/agent-capture/search?{urlencode(asked)}"


def test_a_hit_leads_to_its_turn_and_is_logged_without_its_words(kept: None, log_in: LogIn) -> None:
    page = log_in("vera").get(url(q="river", agent="river-rat")).content.decode()
    assert "because the <mark>river</mark> is dry" in page
    assert "&lt;b&gt;raise&lt;/b&gt;" in page
    assert f"hand?tableId={TABLE}&amp;handNumber={HAND}&amp;agentId=river-rat&amp;actionIndex=1" in page
    assert "Not searched: turns that are not kept" in text(page)
    lines = AgentAccess.objects.values_list("actor", "action", "table_id", "hand_number", "agents", "detail")
    assert list(lines) == [("user:vera", "search", TABLE, HAND, ["river-rat"], "kept")]


def test_newest_hands_are_looked_through_by_badge(kept: None, log_in: LogIn) -> None:
    page = text(log_in("vera").get(url(badge="fallback")).content.decode())
    assert f"{TABLE}:{HAND} #3" in page
    assert f"{TABLE}:{HAND} #2" not in page
    assert "Looked through: 3 turns of the 1 newest hand" in page


def test_nothing_found_says_so(kept: None, log_in: LogIn) -> None:
    page = text(log_in("vera").get(url(q="zebra", action="check")).content.decode())
    assert "No kept turn has these words in one part." in page
    assert "No turn of these hands is like that." in page


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"q": "-x"}, "Name a word to look for"),
        ({"q": "a\x00"}, "NUL"),
        ({"q": "a", "part": "decision"}, "Part must be one of"),
        ({"badge": "odd"}, "Badge must be one of"),
        ({"model": "a\x00b"}, "NUL"),
        ({"version": "v" * 201}, "1 to 200 characters"),
        ({"q": "a", "before": "x"}, "whole number"),
    ],
)
def test_bad_input_is_named(log_in: LogIn, asked: dict[str, str], said: str) -> None:
    response = log_in("vera").get(url(**asked))
    assert response.status_code == 400
    assert said in text(response.content.decode())


@pytest.mark.parametrize(("who", "status"), [("vera", 200), ("sam", 403), ("olga", 403)])
def test_searching_asks_for_the_right_to_see(log_in: LogIn, who: str, status: int) -> None:
    assert log_in(who).get(url(q="a")).status_code == status


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_from_the_list_to_a_hit_on_a_phone_in_the_dark(kept: None, look: Look, has_script: bool) -> None:
    options = {"width": 390, "color_scheme": "dark", "java_script_enabled": has_script}
    page = look("vera", "/agent-capture/", **options)
    page.get_by_role("link", name="search", exact=True).click()
    page.get_by_label("Words").fill("walrus")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("mark")).to_have_text("walrus")
    expect(page.locator("tbody")).to_contain_text("the newest of 2 turns that share it")
    if has_script:
        assert sideways(page) == 0
    page.get_by_role("link", name=f"{TABLE}:{HAND} #2").click()
    expect(page.locator("article")).to_contain_text("fold")
