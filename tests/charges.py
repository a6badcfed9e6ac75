"""Builders: charges and pinned turns as rows, where no agent needs to play for them."""

import datetime
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.db import connection

from capture.ledger import record_charges
from capture.models import AgentCallRecord, AgentHand
from capture_sdk import Charge, TurnKey

NOW = datetime.datetime(2024, 1, 2, 12, 0, tzinfo=datetime.UTC)
# In the order of their characters' numbers, which no language's order is.
NAMES = ["B", "Z-agent", "_", "a", "agent", "Ä", "é", "\N{GREEK SMALL LETTER ALPHA}", "\U0001f0a1"]


def charge(index: int, agent: str = "a", hand: int = 1, table: str = "t", **fields: Any) -> Charge:
    """One charge; those of one action index have one time."""
    at = NOW + datetime.timedelta(seconds=index % 1_000)
    return replace(Charge(key=TurnKey(table, hand, agent, index), charged_at=at), **fields)


def many_hands(count: int, **fields: Any) -> None:
    """Hands 0, 1, 2 … of one table with one charge each, written one after the other, at one time."""
    for hand in range(count):
        record_charges([charge(1, hand=hand, **fields)])


def hand_rows() -> list[tuple[Any, ...]]:
    """Everything that ``agent_hands`` holds, newest first."""
    return list(AgentHand.objects.order_by("-id").values_list())


def pinned_turn(index: int, agent: str = "a", hand: int = 1, **fields: Any) -> AgentCallRecord:
    """A pinned turn, whose record does not matter."""
    given: dict[str, Any] = {"is_clamped": False, "record": b"-", "captured_at": NOW, "pinned_by": "test"}
    key = {"table_id": "t", "hand_number": hand, "agent_id": agent, "action_index": index}
    return AgentCallRecord.objects.create(**key | given | fields)


def run_sql(statement: str, *values: int | str | datetime.datetime) -> None:
    """Do something to the tables that no code of the product does."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


@contextmanager
def going_on(*works: Callable[[], int]) -> Iterator[list[int]]:
    """Do these again and again meanwhile, each in a thread of its own; the list holds what they counted."""
    end, counts = threading.Event(), []

    def again(work: Callable[[], int]) -> None:
        while not end.is_set():
            counts.append(work())

    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(closing(again), work) for work in works]
        try:
            yield counts
        finally:
            end.set()
            for each in running:
                each.result()


def writer(agent: str) -> Callable[[], int]:
    """Writes the next charge of twenty hands at each call."""
    steps = iter(range(10**6))

    def write() -> int:
        step = next(steps)
        return record_charges([charge(step, agent, hand) for hand in range(20)])

    return write


def closing(work: Callable[..., Any]) -> Callable[..., Any]:
    """As a thread does it: with a connection of its own, which it closes, and no wait without end."""

    def run(*given: Any) -> Any:
        run_sql("SET lock_timeout = '10s'")
        try:
            return work(*given)
        finally:
            connection.close()

    return run
