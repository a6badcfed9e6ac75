"""With tens of thousands of rows, each read asks an index, and no list ever asks the ledger."""

import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from capture.charts import By, Span, read_chart
from capture.ledger import charges_of_hand, hands, rebuild_hands
from capture.models import AgentHand
from capture.recent import HandFilter, StandsOut, recent_hands
from tests.charges import NOW, run_sql

pytestmark = pytest.mark.django_db

HANDS = 40_000
OLD, LESS_OLD = NOW + datetime.timedelta(seconds=300), NOW + datetime.timedelta(seconds=360)
_LEDGER = """
INSERT INTO agent_inference_charges (table_id, hand_number, agent_id, action_index, model, agent_version_id, attempts,
                                     is_fallback, is_clamped, is_redacted, charged_at)
SELECT 'table-' || hand %% 20, hand, CASE WHEN hand < 100 THEN 'left' ELSE 'agent-' || hand %% 400 END, turn,
       CASE WHEN hand < 100 THEN 'old' ELSE 'new' END, 'v' || hand / 100, 1, hand %% 500 = 1, hand %% 500 = 2,
       hand %% 500 = 3, %s::timestamptz + hand * interval '1 s'
FROM generate_series(0, %s) AS hand, generate_series(1, 1) AS turn
"""
_PINNED = """
INSERT INTO agent_call_records (table_id, hand_number, agent_id, action_index, is_clamped, record, captured_at,
                                pinned_by)
SELECT 'table-' || hand %% 20, hand, 'agent', turn, false, '', now(), 'test'
FROM generate_series(0, %s, 40) AS hand, generate_series(1, 10) AS turn
"""


@pytest.fixture(scope="module", autouse=True)
def filled(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock():
        run_sql(_LEDGER, NOW, HANDS - 1)
        run_sql(_PINNED, HANDS - 1)
        rebuild_hands()
        run_sql("VACUUM ANALYZE agent_inference_charges, agent_hands, agent_call_records")
        yield
        run_sql("TRUNCATE agent_inference_charges, agent_hands, agent_call_records CASCADE")
        connection.close()


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def steps(read: Callable[[], object]) -> list[dict[str, Any]]:
    """Every step of the plans of what is asked for."""
    with CaptureQueriesContext(connection) as asked:
        read()
    found: list[dict[str, Any]] = []
    queries = [each for each in asked.captured_queries if "FROM" in each["sql"]]
    for query in queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {query['sql']}")
            (plan,) = cursor.fetchone()
        found += nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
    return found


@pytest.mark.parametrize("agent_id", [None, "agent-150"])
def test_the_charges_of_a_hand_are_found_by_their_key(agent_id: str | None) -> None:
    plan = steps(lambda: charges_of_hand("table-10", 150, agent_id=agent_id))
    assert {step.get("Index Name") for step in plan} - {None} == {"agent_inference_charges_turn"}
    assert all(step["Node Type"] != "Seq Scan" for step in plan)


@pytest.mark.parametrize("agent_id", [None, "agent-150"])
def test_the_charts_find_charges_by_their_time(agent_id: str | None) -> None:
    plan = steps(lambda: read_chart(Span.DAY, By.VERSION, agent_id=agent_id))
    assert "agent_inference_charges_time" in {step.get("Index Name") for step in plan}
    assert all(step["Node Type"] != "Seq Scan" for step in plan)


@pytest.mark.parametrize("page", ["first", "later"])
@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ({}, "agent_hands_pkey"),
        ({"table_id": "table-3"}, "agent_hands_table"),
        ({"agent_id": "agent-150"}, "agent_hands_names"),
        ({"agent_id": "left"}, "agent_hands_names"),
        ({"agent_version_id": "v1"}, "agent_hands_names"),
        ({"model": "old"}, "agent_hands_names"),
        ({"stands_out": StandsOut.CLAMPED}, "agent_hands_clamped"),
        ({"stands_out": StandsOut.FALLBACK}, "agent_hands_fallbacks"),
        ({"stands_out": StandsOut.REDACTED}, "agent_hands_redacted"),
        ({"until": OLD}, "agent_hands_walk"),
        ({"since": OLD, "until": LESS_OLD}, "agent_hands_first_at"),
        ({"is_pinned": False}, "agent_call_records_turn"),
    ],
)
def test_recent_hands_are_found_by_an_index(
    buffer: Any, wanted: dict[str, Any], index: str, page: str
) -> None:
    cursor = None if page == "first" else AgentHand.objects.latest("id").pk - 5_000
    plan = steps(lambda: recent_hands(HandFilter(**wanted), limit=50, cursor=cursor))
    assert index in {step.get("Index Name") for step in plan}
    assert not [step["Relation Name"] for step in plan if step["Node Type"] == "Seq Scan"]
    assert {step.get("Relation Name") for step in plan} - {None} <= {"agent_hands", "agent_call_records"}


def test_pinned_hands_are_found_without_the_ledger(buffer: Any) -> None:
    plan = steps(lambda: recent_hands(HandFilter(is_pinned=True), limit=50))
    assert {step.get("Relation Name") for step in plan} - {None} == {"agent_hands", "agent_call_records"}


def test_a_page_counts_the_pins_of_its_own_hands_one_by_one(buffer: Any) -> None:
    plan = steps(lambda: recent_hands(limit=50))
    counted = [step for step in plan if step.get("Relation Name") == "agent_call_records"]
    assert len(counted) == 1
    conditions = [step["Index Cond"] for step in plan if step.get("Index Name") == "agent_call_records_turn"]
    assert "hand_number = agent_hands.hand_number" in conditions[0]


def test_a_chunk_of_a_rebuild_reads_its_own_hands_alone() -> None:
    plan = steps(lambda: hands._rebuild_chunk(("table-11", 500)))
    assert "Seq Scan" not in {step["Node Type"] for step in plan}
    found = [step for step in plan if step.get("Index Name") == "agent_inference_charges_turn"]
    assert len(found) == 3  # the chunk's end, hands without charges, and the sums
    assert all("Index Cond" in step for step in found)
