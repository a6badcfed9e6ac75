"""The pages in a real browser: by mouse, by keyboard, without JavaScript, dark, and on a phone."""

from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.build import ENVELOPE, HAND, REMAINDER, TABLE, fall_back, play, seat
from tests.viewer.conftest import Look

pytestmark = pytest.mark.django_db(transaction=True)

HAND_PAGE = f"/agent-capture/hand?tableId={TABLE}&handNumber={HAND}"


@pytest.fixture
def hand(buffer: Any) -> None:
    """A hand with one of everything: a clamp, a fallback, a missing turn, an uncaptured part."""
    rat, tina = seat(), seat("tight-tina")
    play(rat, 1, reasoning="They bluff a lot.")
    play(tina, 2, parsed=("raise", 240), sent={"action": "raise", "amount": 200})
    fall_back(rat, 3)
    play(tina, 4)
    buffer.delete("turn:table-7:42:tight-tina:4")
    with rat.turn(5) as turn:
        turn.response("only an answer")
    rat.client.flush()


def sideways(page: Page) -> int:
    """How far the page can be scrolled sideways, in pixels."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_from_the_admin_card_to_a_hand_to_its_prompt(hand: None, look: Look) -> None:
    page = look("kim", "/admin/")
    page.get_by_role("link", name="Agent capture What was this agent thinking?").click()
    page.get_by_role("link", name=f"{TABLE}:{HAND}").click()
    turn = page.locator("article").first
    turn.locator("details.prompt > summary").click()
    expect(turn.locator("pre[aria-label=Remainder]")).to_have_text(REMAINDER)
    turn.locator("details.envelope > summary").click()
    expect(turn.locator("pre[aria-label=Envelope]")).to_have_text(ENVELOPE)


def test_the_badges_of_a_hand(hand: None, look: Look) -> None:
    page = look("vera", HAND_PAGE)
    expect(page.locator(".strip .cell")).to_have_count(5)
    expect(page.locator("article")).to_contain_text(
        "CLAMPED raise 240 → raise 200"
    )  # the one that stands out
    said = ["✓ VERIFIED", "CLAMPED", "FALLBACK", "NOT CAPTURED GONE", "PROMPT NOT CAPTURED"]
    for link, badge in zip(page.locator(".turns a").all(), said, strict=True):
        link.click()
        expect(page.locator("article")).to_contain_text(badge)


def test_kept_and_flushed_and_still_there(hand: None, buffer: Any, look: Look) -> None:
    page = look("kim", HAND_PAGE)
    page.get_by_role("button", name="Keep this hand").click()
    expect(page.locator(".messagelist")).to_contain_text("Kept 2 of river-rat, 2 in all")
    expect(page.locator(".messagelist")).to_contain_text("Kept 1 of tight-tina, 1 in all, 1 missing")
    buffer.flushall()
    page.goto(HAND_PAGE)
    expect(page.locator("h1 ~ .chip").first).to_have_text("PINNED 3 of 4")
    page.locator("details.prompt > summary").first.click()
    expect(page.locator("pre[aria-label=Remainder]").first).to_have_text(REMAINDER)


@pytest.mark.parametrize("table", ["line\nend", "carriage\r\nreturn", "a&b=c #1"])
def test_a_hand_with_any_id_can_be_kept(buffer: Any, look: Look, table: str) -> None:
    play(seat(table_id=table), 1)
    page = look("kim", f"/agent-capture/hand?{urlencode({'tableId': table, 'handNumber': HAND})}")
    page.get_by_role("button", name="Keep this hand").click()
    expect(page.locator(".messagelist")).to_contain_text("Kept 1 of river-rat, 1 in all")


def test_who_may_not_keep_sees_why(hand: None, look: Look) -> None:
    page = look("vera", HAND_PAGE)
    expect(page.get_by_role("button", name="Keep this hand")).to_be_disabled()
    expect(page.locator("body")).to_contain_text("needs the permission to keep hands")


def test_the_copy_button_copies_the_hands_id(hand: None, look: Look) -> None:
    page = look("vera", "/agent-capture/", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=f"Copy the id of hand {TABLE}:{HAND}").click()
    expect(page.get_by_text("copied", exact=True).first).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{TABLE}:{HAND}"


COPIED = {
    "crlf": "one\r\ntwo\rthree\n\n",
    "odd": "zero\u200bwidth \u202eturned \ufefftext ♠🂡 e\u0301",
    "markup": "</pre><script>alert(1)</script>&amp;",
    "escape": "\x1b[31mred\x07\x7f\x80",
}


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.parametrize("name", list(COPIED))
def test_what_is_copied_is_what_is_stored(buffer: Any, look: Look, name: str, secure: bool) -> None:
    play(seat(), 1, response=COPIED[name])
    page = look("vera", HAND_PAGE, permissions=["clipboard-read", "clipboard-write"])
    if not secure:
        page.evaluate(
            "kept = navigator.clipboard; Object.defineProperty(navigator, 'clipboard', {value: undefined})"
        )
    page.get_by_role("button", name="Copy the response").click()
    expect(page.get_by_text("copied", exact=True).first).to_be_visible()
    clipboard = "navigator.clipboard" if secure else "kept"
    assert page.evaluate(f"{clipboard}.readText()") == COPIED[name]


@pytest.mark.parametrize("response", ["half \ud83d", b"\xff\xfe", "nul\x00 within"])
def test_what_no_clipboard_holds_is_refused_with_the_download_beside_it(
    buffer: Any, look: Look, response: str | bytes
) -> None:
    play(seat(), 1, response=response)
    page = look("vera", HAND_PAGE, permissions=["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('before')")
    page.get_by_role("button", name="Copy the response").click()
    expect(page.get_by_text("cannot be copied: download it").first).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "before"


def test_the_look_up_takes_a_pasted_id(hand: None, look: Look) -> None:
    page = look("vera", "/agent-capture/")
    page.get_by_label("Table id").fill(f"{TABLE}:{HAND}")
    page.get_by_role("button", name="Open hand").click()
    expect(page.locator("h1")).to_have_text(f"{TABLE}:{HAND}")


def test_the_list_stays_folded_when_it_was_folded(hand: None, look: Look) -> None:
    page = look("vera", "/agent-capture/")
    page.get_by_text("Recent hands").click()
    expect(page.locator("table")).to_be_hidden()
    page.reload()
    expect(page.locator("table")).to_be_hidden()


def test_j_and_k_walk_the_turns(hand: None, look: Look) -> None:
    page = look("vera", HAND_PAGE)
    anchors = [str(link.get_attribute("data-leads")) for link in page.locator(".turns a").all()]
    for key, place in (("j", 2), ("j", 3), ("k", 2), ("k", 1), ("k", 0), ("k", 0)):
        page.keyboard.press(key)
        expect(page.locator("article")).to_have_id(anchors[place])
        expect(page.locator("article")).to_be_focused()
        expect(page.locator(".turns a[aria-current]")).to_have_attribute("data-leads", anchors[place])


def test_a_cell_of_the_strip_leads_to_its_turn(hand: None, look: Look) -> None:
    page = look("vera", HAND_PAGE)
    page.locator(".strip .cell").nth(2).click()
    expect(page.locator("article")).to_contain_text("FALLBACK")
    page.reload()  # the address is the turn's own
    expect(page.locator("article")).to_contain_text("FALLBACK")
    page.go_back()
    expect(page.locator("article")).to_contain_text("CLAMPED")


def test_everything_is_reached_without_javascript(hand: None, look: Look) -> None:
    page = look("kim", HAND_PAGE, java_script_enabled=False)
    page.locator("details.prompt > summary").first.click()
    page.get_by_role("link", name="Open the prompt on a page of its own").first.click()
    expect(page.locator("pre[aria-label=Remainder]")).to_have_text(REMAINDER)
    page.goto(HAND_PAGE)
    page.get_by_role("button", name="Keep this hand").click()
    expect(page.locator(".messagelist")).to_contain_text("Kept 2")


@pytest.mark.parametrize("path", ["/agent-capture/", HAND_PAGE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_and_are_readable(hand: None, look: Look, path: str, scheme: str, width: int) -> None:
    page = look("kim", path, width=width, color_scheme=scheme)
    assert sideways(page) == 0
    contrast = page.evaluate(CONTRAST)
    assert contrast["worst"] >= 4.5, contrast


# The least contrast (WCAG 2.2) between the text of chips, cells and quiet words and what lies behind it.
CONTRAST = """() => {
  const channel = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let worst = 99, where = "";
  const words = [".chip", ".n", ".cell", ".quiet"].map((name) => ".capture " + name).join(", ");
  for (const element of document.querySelectorAll(words)) {
    const one = light(parse(getComputedStyle(element).color)), other = light(behind(element));
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < worst) { worst = ratio; where = element.className; }
  }
  return { worst, where };
}"""
