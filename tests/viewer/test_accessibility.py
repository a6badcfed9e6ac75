"""Every page is tried with axe-core, light and narrow, dark and wide: no serious fault is left."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from capture_sdk.runs.records import RunKey
from tests.build import HAND, TABLE, fall_back, play, seat
from tests.runs import a_run, buffered
from tests.viewer.claims import QUERY as RUN_QUERY
from tests.viewer.claims import a_claim
from tests.viewer.conftest import LogIn, Look

pytestmark = pytest.mark.django_db(transaction=True)

HAND_QUERY = f"tableId={TABLE}&handNumber={HAND}"
TURN_QUERY = f"{HAND_QUERY}&agentId=river-rat&actionIndex=1"
PAGES = {
    "recent": "/agent-capture/?check=1",
    "narrowed": "/agent-capture/?agent=river-rat&standsOut=clamped",
    "hand": f"/agent-capture/hand?{HAND_QUERY}",
    "prompt": f"/agent-capture/prompt?{TURN_QUERY}&find=Pot",
    "compare": f"/agent-capture/compare?{HAND_QUERY}&agentId=river-rat&actionIndex=5",
    "search": "/agent-capture/search?q=Pot&action=raise",
    "charts": "/agent-capture/charts?by=version",
    "verdicts": "/agent-capture/verdicts",
    "runs": "/agent-capture/runs?agent=claims-agent",
    "run": f"/agent-capture/runs/run?{RUN_QUERY}&event=w6",
    "run text": f"/agent-capture/runs/event?{RUN_QUERY}&eventId=w2&find=m",
    "runs compared": f"/agent-capture/runs/compare?{RUN_QUERY}&withRunId=run-2",
    "bad address": "/agent-capture/hand?tableId=",
    "admin": "/admin/",
}
_SERIOUS = ("serious", "critical")


@pytest.fixture
def hand(buffer: Any, log_in: LogIn) -> None:
    """A hand with a clamp, a fallback, a missing turn, a long knowledge, and a verdict on it; and a run."""
    rat, tina = seat(), seat("tight-tina")
    play(rat, 1, reasoning="They bluff a lot.", knowledge={"state": {"pot": 1}, "log": list(range(40))})
    play(tina, 2, parsed=("raise", 240), sent={"action": "raise", "amount": 200})
    fall_back(rat, 3)
    play(tina, 4)
    buffer.delete("turn:table-7:42:tight-tina:4")
    play(rat, 5, remainder="## Table\nPot 200.\u202e")
    writing, artifacts = a_claim()
    buffered(writing.events, artifacts)
    buffered(*a_run(RunKey("claims-agent", "run-2")))
    log_in("vera").post(f"/agent-capture/verdict?{TURN_QUERY}", {"verdict": "clamp", "note": "too much"})


def faults(page: Page) -> list[str]:
    """What axe-core finds serious. Its source is evaluated: the page's own policy stops a script tag."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['target']} {node['html'][:200]}"
        for each in found
        if each["impact"] in _SERIOUS
        for node in each["nodes"]
    ]


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
@pytest.mark.parametrize("name", list(PAGES))
def test_no_serious_fault_is_found(hand: None, look: Look, name: str, scheme: str, width: int) -> None:
    page = look("kim", PAGES[name], width=width, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.wait_for_load_state("networkidle")
    assert faults(page) == []


def test_a_fault_would_be_found(hand: None, look: Look) -> None:
    page = look("kim", PAGES["hand"])
    page.evaluate(
        "document.querySelector('main, #content').insertAdjacentHTML('beforeend', '<img src=data:,>')"
    )
    assert any(each.startswith("image-alt") for each in faults(page))
