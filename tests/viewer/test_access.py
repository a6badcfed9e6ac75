"""Pages are for staff who hold the right; everybody else logs in, or is told what they lack."""

from typing import Any

import pytest
from django.test import Client

from tests.build import HAND, TABLE, play, seat
from tests.viewer.conftest import LogIn

pytestmark = pytest.mark.django_db

HAND_QUERY = f"tableId={TABLE}&handNumber={HAND}"
TURN_QUERY = f"{HAND_QUERY}&agentId=river-rat&actionIndex=1"
PAGES = ["", f"hand?{HAND_QUERY}", f"prompt?{TURN_QUERY}", f"raw?{TURN_QUERY}"]


@pytest.mark.parametrize("page", PAGES)
def test_a_stranger_is_sent_to_the_login_and_back(page: str) -> None:
    response = Client().get(f"/agent-capture/{page}")
    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/?next=/agent-capture/")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("who", "status"), [("vera", 200), ("kim", 200), ("sam", 403), ("olga", 403)])
def test_a_page_asks_for_its_right(buffer: Any, log_in: LogIn, page: str, who: str, status: int) -> None:
    play(seat(), 1)
    assert log_in(who).get(f"/agent-capture/{page}").status_code == status


@pytest.mark.parametrize(("who", "status"), [("kim", 302), ("vera", 403), ("sam", 403), ("olga", 403)])
def test_keeping_is_a_right_of_its_own(buffer: Any, log_in: LogIn, who: str, status: int) -> None:
    play(seat(), 1)
    answer = log_in(who).post(f"/agent-capture/keep?{HAND_QUERY}")
    assert answer.status_code == status


def test_keeping_needs_the_forms_token(buffer: Any, cast: Any) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast["kim"])
    assert strict.post(f"/agent-capture/keep?{HAND_QUERY}").status_code == 403


def test_keeping_by_a_link_is_not_possible(log_in: LogIn) -> None:
    assert log_in("kim").get(f"/agent-capture/keep?{HAND_QUERY}").status_code == 405


def test_the_admin_home_has_the_card_for_those_who_may_see(log_in: LogIn) -> None:
    assert b"capture-card" in log_in("vera").get("/admin/").content
    assert b"capture-card" not in log_in("sam").get("/admin/").content


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_the_headers(buffer: Any, log_in: LogIn, page: str) -> None:
    play(seat(), 1)
    response = log_in("vera").get(f"/agent-capture/{page}")
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert "unsafe" not in response["Content-Security-Policy"]
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "tableId=t",
        "tableId=&handNumber=1",
        "tableId=t&handNumber=-1",
        "tableId=t&handNumber=9" + "9" * 30,
    ],
)
def test_an_address_that_names_no_hand_is_said_to_be_one(log_in: LogIn, query: str) -> None:
    response = log_in("vera").get(f"/agent-capture/hand?{query}")
    assert response.status_code == 400
    assert b"names no hand" in response.content
