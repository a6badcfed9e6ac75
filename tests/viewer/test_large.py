"""Large things: the first view stays small, and the whole of them can be reached."""

import html
import itertools
import json
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from playwright.sync_api import expect

from capture.limits import WINDOW_BYTES
from tests.build import HAND, TABLE, play, seat
from tests.viewer.conftest import LogIn, Look

pytestmark = pytest.mark.django_db(transaction=True)

PAGE_BYTES = 700_000  # of HTML: some ten times a window, since each line carries its markup
LINE = "%06d the river brings nothing, and the villain bets again into an empty board\n"
PROMPT = "".join(LINE % number for number in range(1, 130_001))  # ten megabytes
ONE_LINE = json.dumps(
    {"board": ["Qs"] * 400_000, "last": "the end of it"}
)  # three megabytes without a line end


def address(page: str, **more: Any) -> str:
    where = {"tableId": TABLE, "handNumber": HAND, "agentId": "river-rat", "actionIndex": 1}
    return f"/agent-capture/{page}?{urlencode(where | more)}"


def got(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200
    assert len(response.content) < PAGE_BYTES
    return response.content.decode()


def link(page: str, name: str) -> str | None:
    found = re.search(rf'<a href="([^"]*)"[^>]*>{re.escape(name)}</a>', page)
    return html.unescape(found[1]) if found else None


def place(url: str | None) -> int:
    assert url is not None
    return int(parse_qs(urlsplit(url).query)["from"][0])


def test_a_prompt_of_ten_megabytes_opens_small_and_is_walked_to_its_end(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1, envelope="", remainder=PROMPT)
    vera = log_in("vera")
    got(vera, f"/agent-capture/hand?tableId={TABLE}&handNumber={HAND}")
    page = got(vera, address("prompt"))
    assert "000001 the river" in page
    size = len(PROMPT)
    starts = [0]
    url = link(page, "after ›")
    while url is not None and len(starts) < 5:
        starts.append(place(url))
        page = got(vera, url)
        url = link(page, "after ›")
    assert starts == sorted(set(starts))
    assert all(later - earlier <= WINDOW_BYTES for earlier, later in itertools.pairwise(starts))
    last = got(vera, link(page, "end") or "")
    assert "130000 the river" in last
    assert f"to {size:,} of {size:,}" in last
    assert link(last, "after ›") is None
    assert "065000 the river" in got(vera, address("text", part="remainder", line=65_000))


def test_one_line_of_three_megabytes_is_found_in_and_read_to_its_end(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1, envelope="", remainder=ONE_LINE)
    vera = log_in("vera")
    first = got(vera, address("text", part="remainder"))
    assert "the end of it" not in first
    found = got(vera, address("text", part="remainder", find="THE END OF IT"))
    assert "<mark>the end of it</mark>" in found
    assert "1 match" in found
    assert "bytes of this line stand before" in found


def test_every_large_part_leads_from_the_card_to_its_whole(buffer: Any, log_in: LogIn) -> None:
    items = [{"place": number, "said": "x" * 60} for number in range(3_000)]
    play(
        seat(),
        1,
        response="r" * 400_000 + "RESPONSE-END",
        reasoning="t" * 400_000 + "REASONING-END",
        knowledge={"log": items, "note": "k" * 200_000 + "KNOWLEDGE-END"},
    )
    vera = log_in("vera")
    card = got(vera, f"/agent-capture/hand?tableId={TABLE}&handNumber={HAND}&agentId=river-rat&actionIndex=1")
    for part in ("response", "reasoning", "knowledge"):
        assert f"{part.upper()}-END" not in card
        links = [html.unescape(each) for each in re.findall(r'href="([^"]*)"', card)]
        url = next(each for each in links if f"part={part}" in each and "/agent-capture/text?" in each)
        end = link(got(vera, url), "end")
        assert f"{part.upper()}-END" in got(vera, end or "")


# Whether a link is within the frame in which its list scrolls.
IS_SHOWN = """link => {
    const frame = link.closest("ol").getBoundingClientRect(), own = link.getBoundingClientRect();
    return frame.top <= own.top + 1 && own.bottom <= frame.bottom + 1;
}"""


def test_a_hand_of_three_hundred_turns_lists_them_all_and_shows_the_one_that_is_open(
    buffer: Any, log_in: LogIn, look: Look
) -> None:
    rat = seat()
    for index in range(1, 301):
        play(rat, index)
    address = f"/agent-capture/hand?tableId={TABLE}&handNumber={HAND}&agentId=river-rat&actionIndex=200"
    page = got(log_in("vera"), address)
    assert page.count('data-leads="') >= 300
    assert page.count("<article") == 1
    shown = look("vera", address)
    current = shown.locator(".turns a[aria-current]")
    assert current.evaluate(IS_SHOWN)
    assert shown.evaluate("window.scrollY") == 0
    for _ in range(8):
        before = current.get_attribute("data-leads") or ""
        shown.keyboard.press("k")
        expect(current).not_to_have_attribute("data-leads", before)
    assert current.evaluate(IS_SHOWN)


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_windows_in_the_browser(buffer: Any, look: Look, has_script: bool) -> None:
    play(seat(), 1, envelope="", remainder=PROMPT)
    page = look("vera", address("text", part="remainder"), java_script_enabled=has_script)
    expect(page.locator("pre .line").first).to_contain_text("000001 the river")
    page.get_by_role("link", name="after ›").click()
    expect(page.locator("pre .line").first).not_to_contain_text("000001")
    if has_script:
        expect(page.locator("pre")).to_be_focused()
    page.get_by_role("link", name="end", exact=True).click()
    expect(page.locator("pre")).to_contain_text("130000 the river")
    page.get_by_label("Line", exact=True).fill("777")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.locator("#R777")).to_contain_text("000777 the river")
    page.get_by_label("Find in it").fill("099999 the")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("mark")).to_have_text("099999 the")
    assert page.locator("pre .line").count() < 2_000
