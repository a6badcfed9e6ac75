"""The compare page: two turns beside each other, for those who may, with any text, with and without JavaScript."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from playwright.sync_api import expect

from capture.models import AgentAccess
from tests.build import ENVELOPE, HAND, TABLE, fall_back, play, seat
from tests.viewer.conftest import LogIn, Look
from tests.viewer.test_browser import CONTRAST, sideways
from tests.viewer.test_pages import HOSTILE, text

pytestmark = pytest.mark.django_db(transaction=True)

LOG = [{"agent": "maniac", "action": f"bet {place}"} for place in range(9)]


def address(agent: str = "river-rat", index: int = 2, **more: Any) -> str:
    where = {"tableId": TABLE, "handNumber": HAND, "agentId": agent, "actionIndex": index}
    return f"/agent-capture/compare?{urlencode(where | more)}"


def shown(log_in: LogIn, url: str, status: int = 200) -> str:
    response = log_in("vera").get(url)
    assert response.status_code == status
    return text(response.content.decode())


def play_two(first: str = "Pot 140.\nEnd", second: str = "Pot 200.\nEnd") -> None:
    rat = seat()
    play(rat, 1, remainder=first, knowledge={"state": {"pot": 140}, "actionLog": []})
    play(rat, 2, remainder=second, knowledge={"state": {"pot": 200}, "actionLog": LOG[:1]})


def test_a_turn_is_compared_with_the_agents_previous_one(buffer: Any, log_in: LogIn) -> None:
    play_two()
    page = shown(log_in, address())
    assert (
        f"The first {len(ENVELOPE) + 5:,} bytes are the same: that is where a provider's prompt cache ends"
        in page
    )
    assert "river-rat at 1 ✓ VERIFIED → river-rat at 2 ✓ VERIFIED" in page
    assert "1 added, 0 removed, 1 changed" in page
    assert "state.pot 140 → 200" in page
    assert "1 of 1 value appears in the prompt" in page
    assert 'said {"action": "raise", "amount": 120} parsed raise 120' in page


def test_identical_prompts_say_so(buffer: Any, log_in: LogIn) -> None:
    play_two("same", "same")
    assert f"IDENTICAL Both prompts are the same, to the last of {len(ENVELOPE) + 5:,} bytes." in shown(
        log_in, address()
    )


def test_another_agents_turn_can_be_chosen(buffer: Any, log_in: LogIn) -> None:
    play_two()
    play(seat("tight-tina"), 1, remainder="Another view.")
    page = shown(log_in, address(withAgentId="tight-tina", withActionIndex=1))
    assert "tight-tina at 1 ✓ VERIFIED → river-rat at 2" in page


def test_a_turn_of_another_hand_can_be_chosen_and_both_are_logged(buffer: Any, log_in: LogIn) -> None:
    play_two()
    play(seat(table_id="other:1", hand_number=7), 5, remainder="Elsewhere.")
    page = shown(log_in, address(withTableId="other:1", withHandNumber=7, withActionIndex=5))
    assert "river-rat at 5 of other:1:7" in page
    lines = AgentAccess.objects.order_by("id").values_list("action", "table_id", "action_index", "detail")
    assert list(lines) == [("prompt", "other:1", 5, "compared"), ("prompt", TABLE, 2, "compared")]


def test_a_told_value_links_to_its_line_in_the_prompt(buffer: Any, log_in: LogIn) -> None:
    play_two()
    page = log_in("vera").get(address()).content.decode()
    assert "&amp;part=remainder&amp;from=4&amp;bytes=3#R1" in page  # the 200 of "Pot 200."


def test_the_address_may_come_as_one_field_of_a_form(buffer: Any, log_in: LogIn) -> None:
    play(seat(table_id="line\nend"), 1)
    at = urlencode({"tableId": "line\nend", "handNumber": HAND, "agentId": "river-rat", "actionIndex": 1})
    assert "Why river-rat at 1?" in shown(log_in, f"/agent-capture/compare?{urlencode({'at': at})}")


def test_a_first_turn_has_nothing_before_it(buffer: Any, log_in: LogIn) -> None:
    play_two()
    page = shown(log_in, address(index=1))
    assert "No earlier turn of this agent was captured in the hand" in page
    assert "Nothing to compare it with." in page


def test_a_prompt_that_was_not_captured_is_said_to_be_that(buffer: Any, log_in: LogIn) -> None:
    rat = seat()
    with rat.turn(1) as turn:
        turn.response("only an answer")
    rat.client.flush()
    play(rat, 2)
    page = shown(log_in, address())
    assert "The prompt of the turn before was not captured." in page
    assert "NOT CAPTURED The knowledge of one of the two turns was not captured" in page


def test_a_prompt_whose_envelope_went_is_said_to_be_gone(buffer: Any, log_in: LogIn) -> None:
    play_two()
    buffer.delete(*buffer.keys("env:*"))
    assert "The prompt of this turn is gone: its envelope is no longer in the buffer" in shown(
        log_in, address()
    )


def test_a_turn_that_is_not_there_is_said_not_to_be(buffer: Any, log_in: LogIn) -> None:
    fall_back(seat(), 2)
    assert "is not there: no such turn was captured, or it is gone" in shown(log_in, address(), status=404)


def test_what_it_did_not_know_is_said_first(buffer: Any, log_in: LogIn) -> None:
    seats = [seat(agent) for agent in ("river-rat", "tight-tina", "maniac")]
    for index in range(9):
        play(seats[index % 3], index, knowledge={"actionLog": [] if index == 6 else LOG[:index]})
    page = shown(log_in, address(index=6))
    assert "Others at the table had seen 5 entries of actionLog by now; this agent's holds 0" in page
    assert "It still held 3 of them at 3." in page
    assert "Did not know" not in shown(log_in, address("tight-tina", 7))


@pytest.mark.parametrize(
    "query",
    [
        "",
        "tableId=t&handNumber=1&agentId=a",
        "tableId=t&handNumber=1&agentId=a&actionIndex=1&withActionIndex=x",
    ],
)
def test_an_address_that_names_no_turn_is_refused(log_in: LogIn, query: str) -> None:
    assert "names no hand" in shown(log_in, f"/agent-capture/compare?{query}", status=400)


@pytest.mark.parametrize(("who", "status"), [("vera", 200), ("sam", 403), ("olga", 403)])
def test_comparing_asks_for_the_right_to_see(buffer: Any, log_in: LogIn, who: str, status: int) -> None:
    play_two()
    assert log_in(who).get(address()).status_code == status


def test_a_stranger_is_sent_to_the_login() -> None:
    assert Client().get(address()).status_code == 302


def test_large_prompts_are_compared_fast(buffer: Any, log_in: LogIn) -> None:
    play_two("x" * 1_000_000 + "\n" + "line\n" * 800_000, "x" * 1_000_001 + "\n" + "line\n" * 800_001)
    response = log_in("vera").get(address())
    assert response.status_code == 200
    assert len(response.content) < 200_000


def test_the_page_in_a_browser_without_javascript(buffer: Any, look: Look) -> None:
    play_two()
    play(seat("tight-tina"), 3, remainder="Another view.")
    page = look("vera", address(), java_script_enabled=False)
    expect(page.locator("ol.diff li.added ins")).to_have_text("20")
    page.get_by_text("Compare with another turn").click()
    page.get_by_role("link", name="tight-tina at 3").click()
    expect(page.locator("body")).to_contain_text("tight-tina at 3 ✓ VERIFIED → river-rat at 2")
    page.get_by_text("Compare with another turn").click()
    page.get_by_label("Action index").fill("1")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("ol.diff li.removed del")).to_have_text("14")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_and_is_readable(buffer: Any, look: Look, scheme: str, width: int) -> None:
    play_two("a" * 3_000 + " \r\nPot 140", "a" * 3_000 + "\nPot 200")
    page = look("vera", address(), width=width, color_scheme=scheme)
    assert sideways(page) == 0
    contrast = page.evaluate(CONTRAST)
    assert contrast["worst"] >= 4.5, contrast


def test_nothing_recorded_runs(buffer: Any, look: Look) -> None:
    rat = seat()
    for index in (1, 2):
        said = f"{HOSTILE}{index}"
        play(rat, index, remainder=said, response=said, knowledge={said: [said]}, parsed=(said, index))
    page = look("vera", "/agent-capture/", is_own=True)
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    page.goto(address())
    expect(page.locator("ol.diff")).to_contain_text("<script>alert(1)</script>")
    assert page.locator("#content img, #content script").count() == 0
