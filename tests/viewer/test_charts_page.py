"""The charts page: the lines are those of the table, and the table is there without a script."""

import datetime
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from capture import charts
from capture.ledger import record_charges
from tests.charges import charge
from tests.viewer.conftest import LogIn, Look
from tests.viewer.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/agent-capture/charts"
HOUR = datetime.timedelta(hours=1)
# Of each chart: what is drawn, and what its table says.
DRAWN = "[...document.querySelectorAll('figure.chart')].map((each) => each.drawn && each.drawn.data)"
SAID = """[...document.querySelectorAll('figure.chart table')].map((table) => {
    const rows = [...table.tBodies[0].rows];
    return [...table.tHead.rows[0].cells].map((_, place) => rows.map((row) => {
        const { at, exact } = row.cells[place].dataset;
        return place === 0 ? Number(at) : exact === '' ? null : Number(exact);
    }));
})"""
COLOUR = (
    "[...document.querySelector('.plot canvas').getContext('2d').getImageData(0, 0, 400, 400).data].join('')"
)


@pytest.fixture
def played() -> None:
    """Two agents, of which one says what its calls cost and how long they took."""
    now = timezone.now()
    told: dict[str, Any] = {
        "cost_micros": 4_100,
        "latency_ms": 1_900,
        "input_tokens": 812,
        "output_tokens": 40,
    }
    record_charges(
        [
            charge(1, "rat", charged_at=now, agent_version_id="v12", is_clamped=True, **told),
            charge(2, "rat", charged_at=now - 3 * HOUR, agent_version_id="v11", **told),
            charge(3, "rat", charged_at=now - 3 * HOUR, agent_version_id="v11", is_fallback=True),
            charge(4, "tina", charged_at=now - 2 * HOUR),
        ]
    )


def violations(page: Page) -> list[str]:
    """What the page's policy stopped, from now on."""
    stopped: list[str] = []
    page.on("console", lambda said: stopped.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: stopped.append(str(error)))
    return stopped


def shown(log_in: LogIn, path: str) -> str:
    return text(log_in("vera").get(path).content.decode())


def is_within(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


@pytest.mark.parametrize("by", ["agent", "version"])
def test_the_lines_are_those_of_the_tables(played: None, look: Look, by: str) -> None:
    page = look("vera", "/agent-capture/verdicts", is_own=True)
    stopped = violations(page)
    page.goto(f"{PAGE}?by={by}")
    drawn = page.evaluate(DRAWN)
    assert len(drawn) == 8
    assert drawn == page.evaluate(SAID)
    assert {len(column) for chart in drawn for column in chart} == {24}
    assert {len(chart) for chart in drawn} == {3 if by == "agent" else 4}
    assert stopped == []


def test_a_gap_is_drawn_as_one(played: None, look: Look) -> None:
    turns, fallbacks, _, cost, p50, *_ = look("vera", PAGE).evaluate(DRAWN)
    assert turns[1][-5:] == [0, 1, 0, 0, 1]
    assert fallbacks[1][-5:] == [None, 0.5, None, None, 0]
    assert cost[1][-5:] == [None, 4_100, None, None, 4_100]
    assert p50[2] == [None] * 24


def test_without_a_script_the_numbers_are_there_and_no_empty_frame(played: None, look: Look) -> None:
    page = look("vera", PAGE, java_script_enabled=False)
    assert page.locator(".plot:visible, .legend:visible").count() == 0
    page.get_by_text("Latency, p95 in numbers").click()
    table = page.get_by_role("region", name="Latency, p95 in numbers")
    expect(table).to_contain_text("1.90 s")
    page.get_by_label("A line for each").select_option("version")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("thead").first).to_contain_text("rat · v12")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_narrow_screen(played: None, look: Look, scheme: str) -> None:
    page = look("vera", f"{PAGE}?range=30d&by=version", width=390, color_scheme=scheme)
    expect(page.locator(".plot canvas").first).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert is_within(page)


def test_a_changed_theme_changes_the_colours(played: None, look: Look) -> None:
    page = look("vera", PAGE, color_scheme="light")
    before = page.evaluate(COLOUR)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function(f"before => {COLOUR} !== before", arg=before)


def test_a_line_is_hidden_in_all_charts_and_the_numbers_of_a_time_are_named(played: None, look: Look) -> None:
    page = look("vera", PAGE)
    page.locator(".plot .u-over").first.hover()
    expect(page.locator(".legend .now").first).to_have_text("0")
    page.get_by_role("list", name="Lines of Cost").get_by_role("button", name="tina").click()
    shown = page.evaluate("[...document.querySelectorAll('figure.chart')].map((e) => e.drawn.series[2].show)")
    assert shown == [False] * 8
    assert page.get_by_role("button", name="tina", pressed=False).count() == 8


def test_more_agents_than_lines_are_counted(log_in: LogIn) -> None:
    record_charges([charge(1, f"agent-{place}", charged_at=timezone.now()) for place in range(15)])
    said = shown(log_in, PAGE)
    assert "3 others with fewer inferences are not drawn" in said


def test_what_is_not_stated_is_counted(played: None, log_in: LogIn) -> None:
    said = shown(log_in, PAGE)
    assert "all attempts; 2 charges without it left out" in said
    assert "no charge of x in this time" in shown(log_in, f"{PAGE}?agent=x")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("range=1y", "Range must be one of 1h, 24h, 7d, 30d, not &#x27;1y&#x27;"),
        ("by=model", "By must be one of agent, version"),
        ("agent=a%00b", "NUL"),
        (f"agent={'x' * 201}", "1 to 200 characters"),
    ],
)
def test_what_cannot_be_charted_is_400_and_named(log_in: LogIn, query: str, wanted: str) -> None:
    answer = log_in("vera").get(f"{PAGE}?{query}")
    assert (answer.status_code, wanted in answer.content.decode()) == (400, True)


def test_too_much_is_said_with_what_to_do(log_in: LogIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "CHART_SECONDS", 0.05)
    monkeypatch.setattr(charts, "_CELLS", "SELECT pg_sleep(5) {version:.0}{agent:.0}")
    answer = log_in("vera").get(PAGE)
    assert answer.status_code == 200
    assert "Not added up: stopped after 0.05 s" in text(answer.content.decode())
    assert "shorter range" in text(answer.content.decode())


def test_only_who_may_see_sees_it(log_in: LogIn, buffer: Any) -> None:
    assert log_in("sam").get(PAGE).status_code == 403
