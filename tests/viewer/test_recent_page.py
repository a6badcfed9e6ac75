"""The list of recent hands: figures, filters that can be shared, and news that moves nothing."""

import hashlib
import re
from dataclasses import replace
from typing import Any

import pytest

from capture.buffer import Buffer
from capture.models import AgentHand
from capture_sdk.codec import encode
from capture_sdk.transports import Parcel
from tests.build import Seat, fall_back, memory_client, play, seat
from tests.viewer.conftest import LogIn
from tests.viewer.test_pages import text

pytestmark = pytest.mark.django_db


def shown(log_in: LogIn, query: str = "") -> str:
    answer = log_in("vera").get(f"/agent-capture/?{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def listed(markup: str) -> list[str]:
    return re.findall(r"table-7:(\d+)</a>", markup)


@pytest.fixture
def some(buffer: Any) -> None:
    """Hand 1 is clamped, 2 has a fallback only, 3 is another agent's of another version, 4 is kept."""
    play(seat(hand_number=1), 1, sent={"action": "raise", "amount": 100})
    fall_back(seat(hand_number=2), 1)
    play(seat("tina", hand_number=3, version="v9"), 1, model="gpt-other")
    play(seat(hand_number=4), 1)


@pytest.mark.parametrize(
    ("query", "hands"),
    [
        ("", ["4", "3", "2", "1"]),
        ("agent=tina", ["3"]),
        ("version=v9", ["3"]),
        ("model=gpt-other", ["3"]),
        ("table=elsewhere", []),
        ("standsOut=clamped", ["1"]),
        ("standsOut=fallback", ["2"]),
        ("state=fallback_only", ["2"]),
        ("state=pinned", ["4"]),
        ("state=recent", ["3", "1"]),
        ("state=expired", []),
        ("since=2020-01-01T00:00&agent=river-rat&state=recent", ["1"]),
        ("until=2020-01-01T00:00", []),
    ],
)
def test_the_list_is_narrowed_by_its_address(some: None, log_in: LogIn, query: str, hands: list[str]) -> None:
    log_in("kim").post("/agent-capture/keep?tableId=table-7&handNumber=4")
    assert listed(shown(log_in, query)) == hands


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("state=dead", "State must be one of recent, pinned, expired, fallback_only, not 'dead'"),
        ("standsOut=x", "Stands out must be one of"),
        ("since=yesterday", "Since must be a time such as 2026-01-31T12:00, in UTC, not 'yesterday'"),
        ("agent=" + "x" * 201, "Agent must have 1 to 200 characters"),
        ("before=x", "Cursor must be a whole number"),
    ],
)
def test_a_filter_that_is_none_is_named(log_in: LogIn, query: str, said: str) -> None:
    answer = log_in("vera").get(f"/agent-capture/?{query}")
    assert answer.status_code == 400
    assert said in text(answer.content.decode())


def test_older_pages_keep_the_filter(buffer: Any, log_in: LogIn) -> None:
    for number in range(52):
        play(seat("tina" if number % 26 else "rat", hand_number=number), 1)
        play(seat("tina", hand_number=number), 2)
    first = shown(log_in, "agent=tina")
    older = re.search(r'href="\?(agent=tina&amp;before=\d+)"', first)
    assert older is not None
    assert len(listed(first)) + len(listed(shown(log_in, older[1].replace("&amp;", "&")))) == 52


def test_what_was_asked_for_stands_in_the_form(some: None, log_in: LogIn) -> None:
    markup = shown(log_in, "agent=%22%3E%3Cscript%3E&standsOut=clamped&state=pinned")
    assert 'value="&quot;&gt;&lt;script&gt;"' in markup
    assert "<option selected>clamped</option>" in markup
    assert "No hand is like that" in text(markup)


def test_the_figures_are_of_the_last_hour(some: None, log_in: LogIn) -> None:
    said = text(shown(log_in))
    assert "Turns, last hour 3 in hands begun in it" in said
    assert "Fallbacks 25.0% 1 of 4" in said
    assert "Clamped 33.3% 1 turn" in said
    assert re.search(r"Buffer [\d.,]+.[KM]B of .* · 1 envelope", said)
    assert "Lost 0 by the newest hands' clients" in said


def test_what_clients_lost_is_shown_once_a_client(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    own, transport = memory_client()
    for index in (1, 2):
        Seat(own).play(index)
    told = [replace(each, losses={"store_down": 3 + place}) for place, each in enumerate(transport.records())]
    Buffer.writer().write([Parcel(each.key, encode(each)) for each in told])
    assert "Lost 4 by the newest hands' clients" in text(shown(log_in))


def test_without_the_buffer_its_figures_are_not_known(some: None, log_in: LogIn, dead_buffer: None) -> None:
    said = text(shown(log_in))
    assert "Buffer not known" in said
    assert "Turns, last hour 3" in said


def test_newer_hands_are_announced_and_nothing_moves(some: None, log_in: LogIn) -> None:
    newest = AgentHand.objects.order_by("-id")[0].id
    assert "newer" in shown(log_in)
    vera = log_in("vera")
    assert text(vera.get(f"/agent-capture/newer?after={newest}").content.decode()).strip() == ""
    for number in (8, 9):
        play(seat(hand_number=number), 1)
    said = vera.get(f"/agent-capture/newer?after={newest}").content.decode()
    assert "2 newer hands: show them" in text(said)
    assert "1 newer hand: show it" not in said
    assert text(vera.get(f"/agent-capture/newer?after={newest}&agent=nobody").content.decode()).strip() == ""


def test_the_figures_cost_a_fixed_number_of_queries(
    some: None, log_in: LogIn, django_assert_num_queries: Any
) -> None:
    vera = log_in("vera")
    with django_assert_num_queries(
        6
    ):  # session, user, two of permissions, hands with their pins, the last hour
        vera.get("/agent-capture/")


def test_the_prompts_of_a_list_are_hashed_when_it_is_asked_for(
    some: None, buffer: Any, log_in: LogIn
) -> None:
    play(seat("tina", hand_number=5), 1, envelope="another")
    buffer.set(f"env:{hashlib.sha256(b'another').hexdigest()}", b"changed")
    assert "unverified" not in text(shown(log_in))
    said = text(shown(log_in, "check=1"))
    assert "3 prompts verified now, 1 unverified" in said
    assert said.count("1 unverified") == 2  # in the sentence, and in its row


def test_what_is_missing_of_a_hand_stands_out(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    play(seat(), 2)
    buffer.delete("turn:table-7:42:river-rat:2")
    assert "1 missing" in text(shown(log_in, "check=1"))


def test_the_check_comes_after_the_list_and_goes_to_its_rows(some: None, log_in: LogIn) -> None:
    first = shown(log_in, "state=recent")
    assert 'hx-get="/agent-capture/checked?state=recent" hx-trigger="load"' in first
    part = log_in("vera").get("/agent-capture/checked?state=recent").content.decode()
    rows = re.findall(r'id="(hand-\d+)"', first)
    assert re.findall(r'<span id="(hand-\d+)" hx-swap-oob="true">', part) == rows
    assert "3 prompts verified now" in text(part)


def test_a_check_that_ran_out_of_time_says_how_far_it_came(
    some: None, log_in: LogIn, monkeypatch: Any
) -> None:
    monkeypatch.setattr("viewer.views.CHECK_SECONDS", -1)
    assert "0 prompts verified now, in the first 0 hands of the page" in text(shown(log_in, "check=1"))


def test_a_page_is_compressed_and_a_download_is_not(some: None, log_in: LogIn) -> None:
    vera, accepted = log_in("vera"), {"Accept-Encoding": "gzip"}
    assert vera.get("/agent-capture/", headers=accepted)["Content-Encoding"] == "gzip"
    raw = "/agent-capture/raw?tableId=table-7&handNumber=1&agentId=river-rat&actionIndex=1"
    assert "Content-Encoding" not in vera.get(raw, headers=accepted)
