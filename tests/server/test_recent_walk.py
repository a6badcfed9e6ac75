"""Walking the pages of recent hands yields each hand exactly once, whatever happens meanwhile."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from capture import recent
from capture.ledger import hands, rebuild_hands, record_charges
from capture.models import AgentHand
from capture.recent import HandFilter, recent_hands
from tests.charges import charge, going_on, many_hands, run_sql, writer

pytestmark = pytest.mark.django_db


def walk(between: Callable[[], object], limit: int = 3, **wanted: Any) -> Iterator[int]:
    """Every hand of every page; ``between`` happens after each."""
    cursor: int | None = None
    while True:
        page = recent_hands(HandFilter(**wanted), limit=limit, cursor=cursor)
        yield from (hand.hand_number for hand in page.hands)
        between()
        cursor = page.next_cursor
        if cursor is None:
            return


@pytest.fixture(autouse=True)
def small(buffer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hands, "REBUILD_CHUNK_HANDS", 4)
    monkeypatch.setattr(recent, "RECENT_WALK_HANDS", 5)


@pytest.mark.parametrize("limit", [1, 2, 3, 20, 21])
@pytest.mark.parametrize("wanted", [{}, {"agent_id": "a"}, {"table_id": "t"}, {"is_pinned": False}])
def test_hands_of_one_moment_come_once_each(limit: int, wanted: dict[str, Any]) -> None:
    many_hands(20)
    assert list(walk(lambda: None, limit, **wanted)) == list(range(19, -1, -1))


@pytest.mark.parametrize("wanted", [{}, {"agent_id": "a"}])
def test_new_hands_and_new_turns_of_old_ones_disturb_no_walk(wanted: dict[str, Any]) -> None:
    many_hands(20)
    numbers = iter(range(100, 1_000))

    def play_on() -> None:
        record_charges([charge(2, hand=hand) for hand in [next(numbers), 0, 7, 19]])

    assert list(walk(play_on, **wanted)) == list(range(19, -1, -1))


@pytest.mark.parametrize("damage", ["UPDATE agent_hands SET turns = 9", "DELETE FROM agent_hands"])
@pytest.mark.parametrize("wanted", [{}, {"agent_id": "a"}])
def test_a_rebuild_disturbs_no_walk(damage: str, wanted: dict[str, Any]) -> None:
    many_hands(20)

    def rebuild() -> None:
        run_sql(damage)
        rebuild_hands()

    assert list(walk(rebuild, **wanted)) == list(range(19, -1, -1))


@pytest.mark.django_db(transaction=True)
def test_a_walk_is_whole_while_rebuilds_and_writers_run() -> None:
    many_hands(40)

    def rebuild() -> int:
        return rebuild_hands().added

    with going_on(rebuild, writer("b"), writer("c")):
        for _ in range(10):
            assert list(walk(AgentHand.objects.count)) == list(range(39, -1, -1))
