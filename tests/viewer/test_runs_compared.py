"""Two runs beside each other; and the way from a hand's turn to its run and back."""

from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from capture_sdk.runs.records import RunKey
from tests.build import HAND, TABLE, seat, take
from tests.runs import buffered
from tests.viewer.claims import QUERY, REQUEST, a_claim
from tests.viewer.conftest import LogIn, Look
from tests.viewer.test_browser import sideways

pytestmark = pytest.mark.django_db(transaction=True)

AGAIN = RunKey("claims-agent", "run-2")


@pytest.fixture
def twice(buffer: Any) -> None:
    """A claim, and the same with another prompt, which failed after one more event."""
    writing, artifacts = a_claim()
    buffered(writing.events, artifacts)
    writing, artifacts = a_claim(REQUEST.replace("water", "fire"), status=None)
    writing.emit("event", {"name": "gave up"})
    writing.finish("error")
    buffered([replace(each, run=AGAIN) for each in writing.events], artifacts)


def test_two_runs_are_chosen_and_compared(twice: None, look: Look) -> None:
    page = look("vera", f"/agent-capture/runs/run?{QUERY}", width=390, java_script_enabled=False)
    page.get_by_role("link", name="compare").click()
    page.locator(".lines").get_by_role("link", name="claim").click()
    steps = page.get_by_role("region", name="Steps compared")
    expect(steps).to_contain_text("1 changed, 1 added, 0 removed")
    expect(steps.locator("li").filter(has_text="CHANGED")).to_contain_text("model_call chat")
    expect(steps.locator("li").filter(has_text="CHANGED")).to_contain_text("differs in request")
    expect(steps.locator("li").filter(has_text="ADDED")).to_contain_text("event gave up second #19")
    given = page.get_by_role("region", name="What the models were given")
    expect(given).to_contain_text("1 changed")
    expect(given).to_contain_text("messages[1].content")
    assert sideways(page) == 0
    page.get_by_role("link", name="second #19").click()
    expect(page.locator(".rows > li[aria-current]")).to_contain_text("gave up")


def test_a_run_that_is_not_there_is_no_difference(twice: None, log_in: LogIn) -> None:
    got = log_in("vera").get(f"/agent-capture/runs/compare?{QUERY}&withRunId=nobody")
    assert got.status_code == 404
    assert "NEVER SEEN" in got.content.decode()


def test_a_turn_leads_to_its_run_and_the_run_to_its_hand(buffer: Any, look: Look) -> None:
    writing, _ = a_claim()
    hand = {"tableId": TABLE, "handNumber": HAND}
    writing.events.clear()
    writing.start(hand=hand)
    buffered(writing.events)
    rat = seat()
    where: dict[str, Any] = {
        "table_id": TABLE,
        "hand_number": HAND,
        "agent_id": "river-rat",
        "action_index": 1,
    }
    with rat.client.turn(**where, run=RunKey("claims-agent", "run-1"), outbox=rat.outbox) as turn:
        take(turn, rat.outbox)
    assert rat.client.flush(5)
    page = look("vera", f"/agent-capture/hand?tableId={TABLE}&handNumber={HAND}")
    page.get_by_role("link", name="runs that name this hand").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.go_back()
    page.get_by_role("link", name="run run-1").click()
    expect(page.locator("h1")).to_have_text("claim")
    page.get_by_role("link", name=f"{TABLE}:{HAND}").click()
    expect(page.locator("h1")).to_have_text(f"{TABLE}:{HAND}")
