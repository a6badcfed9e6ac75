"""The list of runs: what stands out of each, narrowed by an address, and what was not looked through."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from capture_sdk.runs.records import RunKey
from tests.runs import a_run, buffered
from tests.viewer.claims import a_claim
from tests.viewer.conftest import LogIn, Look
from tests.viewer.test_browser import sideways

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/agent-capture/runs"
KEYS = {name: RunKey("coder", f"run-{name}") for name in ("error", "cancelled", "unfinished")}


@pytest.fixture
def ran(buffer: Any) -> None:
    """A claim that went well, and one run of a coder for each other status."""
    writing, artifacts = a_claim()
    buffered(writing.events, artifacts)
    for name, key in KEYS.items():
        hand = {"tableId": "table-7", "handNumber": 42}
        buffered(*a_run(key, status=None if name == "unfinished" else name, name=f"code {name}", hand=hand))


def names(page: str) -> list[str]:
    return re.findall(r'<td class="named"><a [^>]*>([^<]*)</a>', page)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", ["code unfinished", "code cancelled", "code error", "claim"]),
        ("agent=claims-agent", ["claim"]),
        ("name=code+e", ["code error"]),
        ("status=unfinished", ["code unfinished"]),
        ("status=ok", ["claim"]),
        ("state=kept", []),
        ("kind=tool.denied", ["claim"]),
        ("project=claims&service=settling", ["claim"]),
        ("hand=table-7:42&status=error", ["code error"]),
        ("until=2020-01-01T00:00", []),
    ],
)
def test_it_is_narrowed_by_its_address(ran: None, log_in: LogIn, query: str, wanted: list[str]) -> None:
    assert names(log_in("vera").get(f"{LIST}?{query}").content.decode()) == wanted


@pytest.mark.parametrize("query", ["status=good", "state=there", "before=x", "since=now", "hand=table"])
def test_what_names_nothing_is_refused(ran: None, log_in: LogIn, query: str) -> None:
    got = log_in("vera").get(f"{LIST}?{query}")
    assert got.status_code == 400
    assert "names no run" in got.content.decode()


def test_pages_lead_on_to_the_oldest(ran: None, log_in: LogIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.runs.listing.PAGE", 3)
    vera = log_in("vera")
    first = vera.get(LIST).content.decode()
    assert len(names(first)) == 3
    older = re.search(r'href="\?([^"]*)">Older runs', first)
    assert older is not None
    assert names(vera.get(f"{LIST}?{older[1]}").content.decode()) == ["claim"]


def test_a_store_that_does_not_answer_is_said(ran: None, dead_buffer: None, log_in: LogIn) -> None:
    assert "live runs were not looked through" in log_in("vera").get(LIST).content.decode()


def test_from_the_hands_to_a_run_and_its_hand(ran: None, look: Look) -> None:
    page = look("vera", "/agent-capture/", width=390, color_scheme="dark")
    page.get_by_role("link", name="runs", exact=True).click()
    claim = page.locator("tbody tr").filter(has_text="claims-agent")
    expect(claim).to_contain_text("OK 1 denied")
    unfinished = page.locator("tbody tr").filter(has_text="code unfinished")
    expect(unfinished.locator("td").nth(1)).to_have_text("UNFINISHED")
    assert unfinished.locator(".chip.ok").count() == 0
    assert sideways(page) == 0
    page.get_by_role("link", name="code error").click()
    page.get_by_role("link", name="table-7:42").click()
    expect(page.locator("h1")).to_have_text("table-7:42")
