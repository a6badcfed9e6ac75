"""What the pages say, without a browser: states, outcomes, honesty, and any text at all."""

import html
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.messages import get_messages

from tests.build import HAND, TABLE, fall_back, play, seat
from tests.viewer.conftest import LogIn

pytestmark = pytest.mark.django_db

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x1b[31m\x00\u200b\ud83d"


def page(log_in: LogIn, table: str = TABLE, hand: int = HAND, **turn: Any) -> str:
    """The hand's page; ``agentId`` and ``actionIndex`` choose the turn that is shown in full."""
    query = urlencode({"tableId": table, "handNumber": hand} | turn)
    return log_in("kim").get(f"/agent-capture/hand?{query}").content.decode()


def text(markup: str) -> str:
    """What a reader sees: the page without its tags."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", markup)))


def keep(log_in: LogIn, table: str = TABLE) -> list[str]:
    query = urlencode({"tableId": table, "handNumber": HAND})
    answer = log_in("kim").post(f"/agent-capture/keep?{query}")
    return [str(message) for message in get_messages(answer.wsgi_request)]


def test_the_list_shows_each_hand_with_what_stands_out(buffer: Any, log_in: LogIn) -> None:
    at = seat()
    play(at, 1, sent={"action": "raise", "amount": 100})
    fall_back(at, 2)
    shown = text(log_in("vera").get("/agent-capture/").content.decode())
    assert "table-7:42" in shown
    assert "1 clamped" in shown
    assert "1 fallback" in shown
    assert "LIVE" in shown
    assert "$0.0041" in shown


def test_older_hands_are_reached_page_by_page(buffer: Any, log_in: LogIn) -> None:
    for hand_number in range(53):
        play(seat(hand_number=hand_number), 1)
    vera = log_in("vera")
    first = vera.get("/agent-capture/").content.decode()
    older = re.search(r"\?before=\d+", first)
    assert older is not None
    second = vera.get(f"/agent-capture/{older[0]}").content.decode()
    hands = set(re.findall(r"table-7:(\d+)</a>", first)) | set(re.findall(r"table-7:(\d+)</a>", second))
    assert len(hands) == 53


def test_a_hand_says_how_complete_it_is(buffer: Any, log_in: LogIn) -> None:
    at = seat()
    play(at, 1)
    play(at, 2)
    fall_back(at, 3)
    buffer.delete("turn:table-7:42:river-rat:2")
    shown = text(page(log_in))
    assert "1 agent · 3 inferences in the ledger: 1 captured, 1 fallback, 1 missing (gone)" in shown
    assert "PARTLY LIVE 1 of 2" in shown
    assert "no longer in the buffer" in text(page(log_in, agentId="river-rat", actionIndex=2))


def test_a_hand_nobody_knows_is_not_an_empty_one(log_in: LogIn) -> None:
    assert "Nothing is known of this hand" in text(page(log_in))


def test_a_turn_is_shown_by_its_address_and_the_one_that_stands_out_without_one(
    buffer: Any, log_in: LogIn
) -> None:
    at = seat()
    play(at, 1, response="the first answer")
    play(at, 2, response="the odd answer", sent={"action": "raise", "amount": 100})
    assert "the odd answer" in page(log_in)
    first = page(log_in, agentId="river-rat", actionIndex=1)
    assert ("the first answer" in first, "the odd answer" in first) == (True, False)
    assert "Nothing is known of turn 9" in page(log_in, agentId="river-rat", actionIndex=9)


def test_a_part_of_the_page_is_the_turn_alone(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    query = urlencode({"tableId": TABLE, "handNumber": HAND, "agentId": "river-rat", "actionIndex": 1})
    part = log_in("vera").get(f"/agent-capture/hand?{query}", headers={"HX-Request": "true"}).content.decode()
    assert part.strip().startswith("<article")


def test_streets_are_told_by_what_the_agents_knew(buffer: Any, log_in: LogIn) -> None:
    at = seat()
    for index, board in enumerate(([], ["Kh", "7d", "2c"], ["Kh", "7d", "2c"], ["Kh", "7d", "2c", "Js"])):
        play(at, index, knowledge={"state": {"board": board}})
    shown = text(page(log_in))
    assert re.search(r"Preflop .*0.* Flop K♥ 7♦ 2♣ .*1.*2.* Turn J♠ .*3", shown)


def test_the_four_parts_stand_in_the_loops_order(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1, reasoning="top pair", sent={"action": "raise", "amount": 100})
    shown = text(page(log_in))
    places = [shown.index(part) for part in ("1 Knew", "2 Told", "3 Answered", "4 Sent")]
    assert places == sorted(places)
    assert "CLAMPED raise 120 → raise 100" in shown
    assert "✓ VERIFIED" in shown
    assert "actionLog [] captured, empty" in shown


def test_not_captured_and_captured_empty_are_told_apart(buffer: Any, log_in: LogIn) -> None:
    at = seat()
    with at.client.turn(table_id=TABLE, hand_number=HAND, agent_id="bare", action_index=1) as turn:
        turn.response("")
    at.client.flush()
    shown = text(page(log_in))
    assert shown.count("NOT CAPTURED") >= 3
    assert '"" captured, empty' in shown


def test_the_prompt_page_shows_both_parts_and_the_hash(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    play(seat(), 2)
    query = urlencode({"tableId": TABLE, "handNumber": HAND, "agentId": "river-rat", "actionIndex": 1})
    shown = text(log_in("vera").get(f"/agent-capture/prompt?{query}").content.decode())
    assert "✓ VERIFIED" in shown
    assert "the same as in 1 other turn" in shown
    assert "Legal: fold, call 60, raise 120..200" in shown


@pytest.mark.parametrize("part", ["prompt", "response", "reasoning", "knowledge", "decision"])
def test_each_part_can_be_downloaded(buffer: Any, log_in: LogIn, part: str) -> None:
    play(seat(), 1, response="é\ud83d", reasoning="r", envelope="e\x00", remainder="\r\n")
    where = {"tableId": TABLE, "handNumber": str(HAND), "agentId": "river-rat", "actionIndex": "1"}
    response = log_in("vera").get("/agent-capture/raw", where | {"part": part})
    exact = {"prompt": b"e\x00\n\r\n", "response": b"\xc3\xa9\xed\xa0\xbd", "reasoning": b"r"}
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment")
    assert response.content == exact.get(part, response.content) != b""


def test_a_flipped_byte_is_mismatched_on_the_page(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    buffer.setrange(buffer.keys("env:*")[0], 3, b"!")
    shown = text(page(log_in))
    assert "✗ MISMATCHED" in shown
    assert "VERIFIED" not in shown


def test_keeping_says_exactly_what_happened(buffer: Any, log_in: LogIn) -> None:
    play(seat("a"), 1)
    play(seat("b"), 2)
    play(seat("b"), 3)
    fall_back(seat("c"), 4)
    buffer.delete("turn:table-7:42:b:3")
    assert keep(log_in) == [
        "Kept 1 of a, 1 in all",
        "Kept 1 of b, 1 in all, 1 missing",
        "Nothing to keep of c",
    ]
    assert keep(log_in)[0] == "Already kept: a, 1 in all"


def test_what_was_kept_is_there_when_the_buffer_is_empty(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    keep(log_in)
    buffer.flushall()
    shown = text(page(log_in))
    assert "PINNED 1 of 1" in shown
    assert "✓ VERIFIED" in shown
    assert "PINNED" in text(log_in("vera").get("/agent-capture/").content.decode())


def test_agents_whose_ids_begin_alike_have_anchors_of_their_own(buffer: Any, log_in: LogIn) -> None:
    for last in "ab":
        play(seat("the same beginning of an id " + last), 1)
    assert len(set(re.findall(r'data-leads="([^"]+)"', page(log_in)))) == 2


def test_a_single_failed_attempt_is_shown_with_all_that_came(buffer: Any, log_in: LogIn) -> None:
    at = seat()
    with at.turn(1) as turn:
        turn.attempt("unusable", response="I would rather not", reasoning="they may be watching")
    at.client.flush()
    shown = text(page(log_in))
    assert "1 attempt " in shown
    assert "I would rather not" in shown
    assert "they may be watching" in shown


def test_without_the_buffer_the_pages_say_so(
    buffer: Any, log_in: LogIn, settings: Any, tmp_path: Any
) -> None:
    play(seat(), 1)
    dead = settings.CACHES["capture"] | {"LOCATION": f"unix://{tmp_path}/nobody.sock"}
    settings.CACHES = settings.CACHES | {"capture": dead}
    shown = text(page(log_in))
    assert "The buffer does not answer" in shown
    assert "UNKNOWN" in shown
    assert "UNKNOWN" in text(log_in("vera").get("/agent-capture/").content.decode())
    assert keep(log_in) == ["Not kept: river-rat, the buffer is unavailable"]


@pytest.mark.parametrize("table", ["a/b?c#d%41&e=f", "q\"'<b>", "ключ 🂡", "a:b:c", "..", " x ", "\u202eevil"])
def test_any_table_id_has_a_page(buffer: Any, log_in: LogIn, table: str) -> None:
    play(seat('"><script>', table_id=table), 1)
    listed = log_in("vera").get("/agent-capture/").content.decode()
    link = re.search(r'href="(/agent-capture/hand[^"]*)"', listed)
    assert link is not None
    shown = log_in("vera").get(html.unescape(link[1]))
    assert "1 captured" in text(shown.content.decode())
    assert b"<script>" not in shown.content.replace(b'<script src="', b"")


def test_hostile_text_is_shown_as_text_in_every_field(buffer: Any, log_in: LogIn) -> None:
    at = seat(version=HOSTILE)
    odd: dict[str, Any] = {"model": HOSTILE, "provider": HOSTILE, "routing": HOSTILE}
    with at.turn(1) as turn:
        turn.knows(**{HOSTILE: {HOSTILE: HOSTILE}})
        turn.prompt(HOSTILE, HOSTILE)
        turn.attempt(HOSTILE, response=HOSTILE, error=HOSTILE)
        turn.response(HOSTILE, reasoning=HOSTILE, **odd)
        turn.parsed(HOSTILE, HOSTILE)
        turn.adjusted(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
        at.outbox.send({"action": HOSTILE, HOSTILE: HOSTILE})
    at.client.flush()
    markup = page(log_in)
    assert "<script>alert" not in markup
    assert "<img" not in markup
    assert not re.search("[\u202e\x1b\x00\u200b]", markup)
    assert "U+202E" in markup


def test_postgres_down_is_a_page_that_says_so(log_in: LogIn, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    from viewer.middleware import StoreDownMiddleware

    response = StoreDownMiddleware(lambda request: None).process_exception(None, OperationalError())  # type: ignore[arg-type,return-value]
    assert response is not None
    assert response.status_code == 503
    assert b"does not answer" in response.content


def test_static_files_get_hashed_names(tmp_path: Any, settings: Any) -> None:
    from django.core.management import call_command

    hashed = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": hashed}
    settings.STATIC_ROOT = tmp_path
    call_command("collectstatic", interactive=False, verbosity=0)
    names = [path.name for path in (tmp_path / "viewer").iterdir()]
    assert any(re.fullmatch(r"viewer\.[0-9a-f]{12}\.css\.br", name) for name in names)
