"""Recent hands: every filter, alone and together, and what each hand is."""

import datetime
from dataclasses import replace
from typing import Any

import pytest

from capture import recent
from capture.ledger import record_charges
from capture.merge import HandState
from capture.recent import HandFilter, StandsOut, recent_hands
from tests.charges import NOW, charge, many_hands, pinned_turn

pytestmark = pytest.mark.django_db

LATER = NOW + datetime.timedelta(hours=1)


def found(**wanted: Any) -> list[int]:
    """The numbers of the hands that are found."""
    return [hand.hand_number for hand in recent_hands(HandFilter(**wanted), limit=50).hands]


@pytest.fixture(autouse=True)
def hands(buffer: Any) -> None:
    record_charges([charge(0, "a", 1, model="m1", agent_version_id="v1", is_clamped=True)])
    record_charges([charge(0, "b", 2, "u", model="m2", agent_version_id="v2", is_fallback=True)])
    record_charges([charge(0, "a", 3, model="m2", is_redacted=True), charge(1, "b", 3, model="m1")])
    record_charges([replace(charge(0, "c", 4, agent_version_id="v1"), charged_at=LATER)])
    pinned_turn(0, "a", 3)
    pinned_turn(1, "b", 3)
    pinned_turn(0, "x", 2)  # of table t: table u's hand 2 is not pinned by it


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({}, [4, 3, 2, 1]),
        ({"table_id": "u"}, [2]),
        ({"agent_id": "b"}, [3, 2]),
        ({"agent_version_id": "v1"}, [4, 1]),
        ({"model": "m1"}, [3, 1]),
        ({"model": "m"}, []),
        ({"stands_out": StandsOut.CLAMPED}, [1]),
        ({"stands_out": StandsOut.FALLBACK}, [2]),
        ({"stands_out": StandsOut.REDACTED}, [3]),
        ({"since": LATER}, [4]),
        ({"until": LATER}, [3, 2, 1]),
        ({"since": NOW, "until": NOW + datetime.timedelta(microseconds=1)}, [3, 2, 1]),
        ({"is_pinned": True}, [3]),
        ({"is_pinned": False}, [4, 2, 1]),
        ({"agent_id": "a", "model": "m2", "is_pinned": True, "table_id": "t"}, [3]),
        ({"agent_id": "b", "stands_out": StandsOut.CLAMPED}, []),
    ],
)
@pytest.mark.parametrize("walked", [1, 2, 20_000])
def test_a_filter_finds_its_hands_however_far_they_are(
    wanted: dict[str, Any], numbers: list[int], walked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "RECENT_WALK_HANDS", walked)
    assert found(**wanted) == numbers


@pytest.mark.parametrize("name", ["m" * 300, "half \ud83d", "nul \x00", "Ä", "{a,b}", "'; --", "NULL", ""])
def test_a_model_is_found_by_the_name_that_the_agent_gave(name: str) -> None:
    record_charges([charge(1, hand=9, model=name, agent_version_id=name)])
    assert found(model=name) == found(agent_version_id=name) == [9]


def test_a_hand_counts_its_own_pinned_turns_and_no_others() -> None:
    page = recent_hands(limit=50)
    assert [hand.standing.pinned for hand in page.hands] == [0, 2, 0, 0]
    assert [hand.standing.state for hand in page.hands][1] is HandState.PINNED


def test_a_buffer_that_is_down_is_told_and_the_list_stays(dead_buffer: None) -> None:
    page = recent_hands(limit=50)
    assert not page.buffer_ok
    assert [hand.standing.state for hand in page.hands] == ["unknown", "pinned", "fallback_only", "unknown"]


@pytest.mark.parametrize(
    ("wanted", "queries"),
    [
        ({}, 1),
        ({"table_id": "t", "stands_out": StandsOut.CLAMPED, "until": LATER, "is_pinned": False}, 1),
        ({"agent_id": "a", "model": "m1", "is_pinned": True}, 2),
    ],
)
@pytest.mark.parametrize("limit", [1, 3, 40])
def test_a_page_of_any_size_costs_the_same_few_queries(
    django_assert_num_queries: Any, wanted: dict[str, Any], queries: int, limit: int
) -> None:
    many_hands(60, is_clamped=True)
    with django_assert_num_queries(queries):
        recent_hands(HandFilter(**wanted), limit=limit)


def test_what_is_far_costs_one_query_more(
    django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "RECENT_WALK_HANDS", 2)
    with django_assert_num_queries(3):
        recent_hands(HandFilter(agent_id="a"), limit=40)
