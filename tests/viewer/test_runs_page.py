"""The page of a run: what happened in order, what stands out, what is kept of it."""

from typing import Any

import pytest
from playwright.sync_api import expect

from capture.models import AccessAction, AgentAccess
from tests.runs import buffered
from tests.viewer.claims import QUERY, a_claim
from tests.viewer.conftest import LogIn, Look
from tests.viewer.test_browser import sideways

pytestmark = pytest.mark.django_db(transaction=True)

RUN = f"/agent-capture/runs/run?{QUERY}"


@pytest.fixture
def claim(buffer: Any) -> None:
    writing, artifacts = a_claim()
    buffered(writing.events, artifacts)


def test_a_run_is_read_from_top_to_bottom(claim: None, look: Look) -> None:
    page = look("kim", RUN, width=390, color_scheme="dark")
    rows = page.locator(".rows > li")
    expect(rows).to_have_count(15)
    said = {
        "3 model call m": "812 in, 40 out proposed pay #6, close #7, forget #8 OK 20 ms",
        "6 tool proposed pay": "→ executed #11 OK",
        "7 tool proposed close": "DENIED #9 by a person: not today",
        "8 tool proposed forget": "NEVER EXECUTED",
        "9 tool.denied": "of proposal #7, by a person: not today",
        "10 checkpoint point": "before-tool STATE WHOLE",
        "11 tool executed pay": "SIDE EFFECT IRREVERSIBLE of proposal #6 OK",
        "12 model call small": "STREAM of 3 chunks, NOT READ TO ITS END INCOMPLETE",
        "15 tool executed look_up": "SIDE EFFECT NOT STATED NO PROPOSAL ERROR 10 ms Timeout: no answer in 3 s",
        "18 claim.weighed": "weight 3",
    }
    for begins, has in said.items():
        row = rows.filter(has_text=begins).first
        expect(row).to_contain_text(has)
    assert sideways(page) == 0
    page.get_by_role("link", name="1 executed without a proposal").click()
    expect(page.locator(".rows > li[aria-current]")).to_contain_text("look_up")


def test_a_request_is_opened_in_its_place_and_by_itself(claim: None, look: Look) -> None:
    page = look("kim", RUN)
    page.locator(".rows summary").filter(has_text="request").click()
    window = page.locator(".rows .window")
    expect(window).to_contain_text("Laid out for reading")
    expect(window).to_contain_text('"content": "You settle claims."')
    page.get_by_role("link", name="As it was recorded").click()
    expect(page.locator("pre .line")).to_have_count(1)
    page.get_by_label("Find in it").fill("cellar")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("mark")).to_have_text("cellar")
    with page.expect_download() as download:
        page.get_by_role("link", name="download").click()
    assert b"water in the cellar" in download.value.path().read_bytes()
    told = set(AgentAccess.objects.values_list("action", "run_id"))
    assert told == {(AccessAction.READ_RUN, "run-1"), (AccessAction.ARTIFACT, "run-1")}


def test_without_a_script_it_is_read_and_kept(claim: None, buffer: Any, look: Look) -> None:
    page = look("kim", RUN, java_script_enabled=False)
    page.locator(".rows summary").filter(has_text="request").click()
    page.locator(".rows").get_by_role("link", name="Open it on a page of its own").first.click()
    expect(page.locator("pre")).to_contain_text("You settle claims.")
    page.goto(RUN)
    page.get_by_role("button", name="Keep this run").click()
    expect(page.locator(".messagelist")).to_contain_text("Kept 19 events of run-1, 19 in all")
    buffer.flushall()
    page.goto(RUN)
    expect(page.locator("h1 ~ .chip").nth(1)).to_have_text("KEPT")
    expect(page.locator("body")).to_contain_text("19 events · all of them kept")


def test_who_may_only_see_keeps_nothing(claim: None, log_in: LogIn) -> None:
    assert log_in("vera").post(f"/agent-capture/runs/keep?{QUERY}").status_code == 403
    for path in ("runs", "runs/run", "runs/artifact", "runs/raw", "runs/event"):
        assert log_in("sam").get(f"/agent-capture/{path}?{QUERY}").status_code == 403


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("run?agentId=claims-agent&runId=nobody", 404, "NEVER SEEN"),
        ("run?agentId=claims-agent", 400, "Run id"),
        (f"event?{QUERY}&eventId=nobody", 404, "The run has no event nobody"),
        (f"artifact?{QUERY}&eventId=w2&sha256=12", 400, "64 hexadecimal digits"),
        (f"artifact?{QUERY}&eventId=w2&sha256={'0' * 64}", 404, "no such event of this run refers to it"),
        (f"run?{QUERY}&event=nobody", 200, "The run has no such event: nobody"),
        (f"run?{QUERY}&after=x", 400, "After must be a whole number"),
    ],
)
def test_what_is_not_there_is_said(claim: None, log_in: LogIn, path: str, status: int, says: str) -> None:
    got = log_in("vera").get(f"/agent-capture/runs/{path}")
    assert got.status_code == status
    assert says in got.content.decode()
