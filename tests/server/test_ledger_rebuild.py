"""The rebuild of ``agent_hands``: the very rows that the writer kept, whatever became of them and whoever writes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from capture.ledger import LedgerBusy, Rebuilt, hands, locks, rebuild_hands, record_charges
from capture.models import AgentHand, AgentInferenceCharge
from tests.charges import NAMES, charge, closing, going_on, hand_rows, many_hands, run_sql, writer


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hands, "REBUILD_CHUNK_HANDS", 3)


@pytest.fixture
def rows(db: None) -> list[Any]:
    """Hands of several tables, with names in every order, written in pieces."""
    for step, name in enumerate([*NAMES, *reversed(NAMES)]):
        facts = {"model": f"{name}-model", "agent_version_id": name * 150, "is_redacted": step % 2 == 0}
        record_charges([charge(step, agent, 40 - step % 8, name, **facts) for agent in NAMES[step % 3 :: 2]])
        record_charges([charge(step, name, step % 5, is_fallback=step % 4 == 0, cost_micros=step or None)])
        record_charges([charge(100 + step, "c", 3, is_clamped=True, model=f"{NAMES[-1 - step % 9]}x")])
    return hand_rows()


def test_a_sound_table_is_left_as_it_is(rows: list[Any]) -> None:
    assert len(rows) > 20
    assert rebuild_hands() == Rebuilt(0, 0, 0)
    assert hand_rows() == rows


def test_an_emptied_table_gets_the_very_same_rows(rows: list[Any]) -> None:
    AgentHand.objects.all().delete()
    assert rebuild_hands() == Rebuilt(len(rows), 0, 0)
    assert hand_rows() == rows


@pytest.mark.parametrize(
    "damage",
    [
        "turns = turns + 1",
        "cost_micros = NULL",
        "cost_micros = 0",
        "first_at = last_at + interval '1 s'",
        "agents = '{}'",
        "model_names = array_append(model_names, 'x')",
        "agent_version_ids = agents",
    ],
)
def test_a_damaged_table_becomes_the_very_same_rows(rows: list[Any], damage: str) -> None:
    run_sql(f"UPDATE agent_hands SET {damage}")  # noqa: S608 - written above
    run_sql("DELETE FROM agent_hands WHERE hand_number = 3")
    rebuilt = rebuild_hands()
    assert rebuilt.added == 1
    assert rebuilt.corrected > 0
    assert hand_rows() == rows


def test_hands_without_charges_are_removed(rows: list[Any]) -> None:
    real = AgentHand.objects.values("first_at", "last_at", "agents", "turns").latest("id")
    counts = {"fallbacks": 0, "clamped": 0, "redacted": 0}
    for number, table in enumerate(["!", "t", "\U0010ffff"]):
        AgentHand.objects.create(id=-number, table_id=table, hand_number=7, **real, **counts)
    assert rebuild_hands() == Rebuilt(0, 0, 3)
    assert hand_rows() == rows


def test_a_row_keeps_its_id_and_new_ones_follow_the_ledger(rows: list[Any]) -> None:
    run_sql("UPDATE agent_hands SET id = -id, turns = 0")
    assert rebuild_hands() == Rebuilt(0, len(rows), 0)
    assert [row[0] for row in hand_rows()] == sorted((-row[0] for row in rows), reverse=True)


def test_an_empty_ledger_leaves_nothing(rows: list[Any]) -> None:
    AgentInferenceCharge.objects.all().delete()
    chunks: list[int] = []
    assert rebuild_hands(chunks.append) == Rebuilt(0, 0, len(rows))
    assert sum(chunks) >= len(rows) - 3
    assert rebuild_hands() == Rebuilt(0, 0, 0)


def test_the_command_reports_what_it_found(rows: list[Any], capsys: Any) -> None:
    AgentHand.objects.filter(hand_number=3).delete()
    call_command("rebuild_hands", "--json")
    told = f'{{"hands": {len(rows)}, "added": 1, "corrected": 0, "removed": 0}}\n'
    assert capsys.readouterr() == (told, "")


@pytest.mark.django_db(transaction=True)
def test_no_charge_is_lost_that_is_written_while_rebuilds_run() -> None:
    many_hands(20)
    with going_on(*(writer(agent) for agent in "bcd")) as written, ThreadPoolExecutor(2) as pool:
        for _ in range(15):
            locks.alone(lambda: AgentHand.objects.filter(hand_number__gte=9).delete())
            for each in [pool.submit(closing(rebuild_hands)) for _ in range(2)]:
                each.result()
    assert rebuild_hands() == Rebuilt(0, 0, 0)
    assert sum(AgentHand.objects.values_list("turns", flat=True)) == 20 + sum(written) > 100


@pytest.mark.django_db(transaction=True)
def test_a_rebuild_gives_up_while_a_writer_stays_open_and_works_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locks, "LEDGER_LOCK_SECONDS", 0.02)
    monkeypatch.setattr(locks, "LEDGER_LOCK_TRIES", 3)
    many_hands(2)
    AgentHand.objects.all().delete()
    with transaction.atomic(), ThreadPoolExecutor(1) as pool:
        record_charges([charge(2)])
        with pytest.raises(LedgerBusy, match="idle in transaction"):
            pool.submit(closing(rebuild_hands)).result()
        with pytest.raises(CommandError, match="idle in transaction"):
            pool.submit(closing(lambda: call_command("rebuild_hands"))).result()
    assert rebuild_hands() == Rebuilt(1, 1, 0)
