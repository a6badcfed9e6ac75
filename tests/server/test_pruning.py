"""Pruning takes whole hands and no more than it says, with writers and another pruning beside it."""

import datetime
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from capture import pruning
from capture.ledger import Rebuilt, rebuild_hands, record_charges
from capture.models import AccessAction, AgentAccess, AgentCallRecord, AgentHand, AgentInferenceCharge
from capture.pruning import Pruned, prune_access_log, prune_charges
from tests.charges import charge, closing, going_on, pinned_turn, writer

pytestmark = pytest.mark.django_db


def aged(hand: int, *days: float, agent: str = "a") -> None:
    """A hand with a charge of each of these ages."""
    now = timezone.now()
    at = [now - datetime.timedelta(days=each) for each in days]
    record_charges([replace(charge(step, agent, hand), charged_at=when) for step, when in enumerate(at)])


def prune(days: int = 30, *, dry_run: bool = False, with_pinned: bool = False) -> Pruned:
    return prune_charges(days, dry_run=dry_run, with_pinned=with_pinned)


def left() -> list[int]:
    """The hands that the ledger has, after making sure that ``agent_hands`` agrees with it."""
    assert rebuild_hands() == Rebuilt(0, 0, 0)
    return sorted(AgentHand.objects.values_list("hand_number", flat=True))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "PRUNE_BATCH_HANDS", 2)
    monkeypatch.setattr(pruning, "PRUNE_BATCH_ROWS", 2)


def test_hands_that_ended_long_ago_go_whole_and_others_stay_whole() -> None:
    aged(1, 50, 40, 31)
    aged(2, 50, 29)
    aged(3, 1)
    for hand in range(10, 17):
        aged(hand, 40, 40)
    assert prune() == Pruned(hands=8, charges=17, kept_because_pinned=0)
    assert left() == [2, 3]
    assert AgentInferenceCharge.objects.count() == 3
    assert prune() == Pruned()


@pytest.mark.parametrize("pinned", [range(1), range(9), range(0, 9, 2), [1, 2, 3, 4]])
def test_hands_with_pinned_turns_are_kept_and_counted(pinned: Any) -> None:
    for hand in range(9):
        aged(hand, 40, 40)
    for hand in pinned:
        pinned_turn(0, hand=hand)
    count = len(list(pinned))
    assert prune() == Pruned(9 - count, 2 * (9 - count), count)
    assert left() == list(pinned)


def test_pinned_hands_go_when_that_is_asked_for_and_their_turns_stay() -> None:
    aged(1, 40)
    pinned_turn(0)
    assert prune(with_pinned=True) == Pruned(1, 1, 0)
    assert left() == []
    assert AgentCallRecord.objects.count() == 1


def test_a_dry_run_says_the_same_and_deletes_nothing() -> None:
    for hand in range(7):
        aged(hand, 40, 35, 31)
    pinned_turn(0, hand=3)
    assert prune(dry_run=True) == prune(dry_run=True) == Pruned(6, 18, 1)
    assert left() == list(range(7))
    assert prune() == Pruned(6, 18, 1)


@pytest.mark.django_db(transaction=True)
def test_two_prunings_at_once_delete_each_hand_once() -> None:
    for hand in range(60):
        aged(hand, 40, 40)
    with ThreadPoolExecutor(3) as pool:
        done = [each.result() for each in [pool.submit(closing(prune)) for _ in range(3)]]
    rest = prune()
    assert sum((each.hands for each in done), rest.hands) == 60
    assert sum((each.charges for each in done), rest.charges) == 120
    assert left() == []


@pytest.mark.django_db(transaction=True)
def test_writers_go_on_while_old_hands_are_pruned() -> None:
    counts: list[int] = []
    with going_on(writer("b"), writer("c")) as written:  # hands of the past: each is pruned and begun again
        for _ in range(30):
            aged(99, 40)
            counts.append(prune(days=1).charges)
    counts.append(prune(days=1).charges)
    assert left() == []
    assert sum(counts) == 30 + sum(written)


@pytest.mark.django_db(transaction=True)
def test_a_hand_that_is_being_written_is_left_to_its_writer() -> None:
    aged(1, 40)
    aged(2, 40)
    with transaction.atomic(), ThreadPoolExecutor(1) as pool:
        aged(1, 41, 42, agent="b")
        assert pool.submit(closing(prune)).result() == Pruned(1, 1, 0)
    assert left() == [1]
    assert AgentHand.objects.aggregate(Sum("turns")) == {"turns__sum": 3}
    assert prune() == Pruned(1, 3, 0)


def test_the_command_reports_what_it_did(capsys: Any) -> None:
    aged(1, 40, 40)
    call_command("prune_charges", "--older-than", "30", "--dry-run", "--json")
    call_command("prune_charges", "--older-than", "30", "--pinned", "--json")
    figures = {"hands": 1, "charges": 2, "kept_because_pinned": 0}
    dry, done = map(json.loads, capsys.readouterr().out.splitlines())
    assert (dry, done) == (figures | {"dry_run": True}, figures | {"dry_run": False})
    call_command("prune_charges", "--older-than", "30")
    assert "kept_because_pinned  0" in capsys.readouterr().out


@pytest.mark.parametrize("days", ["0", "-1", "1.5", "x", "", "²", "36501", "9" * 5_000])
@pytest.mark.parametrize("command", ["prune_charges", "prune_access_log"])
def test_an_age_that_is_none_is_refused(command: str, days: str) -> None:
    aged(1, 40)
    with pytest.raises(CommandError, match="days"):
        call_command(command, f"--older-than={days}")
    assert left() == [1]


@pytest.fixture
def lines() -> None:
    for age in [1, 29, *range(31, 38)]:
        at = timezone.now() - datetime.timedelta(days=age)
        line = {"actor": "user:x", "action": AccessAction.READ, "table_id": "t", "hand_number": 1}
        AgentAccess.objects.create(at=at, agents=["a"], **line)


def test_old_lines_of_the_access_log_go(lines: None) -> None:
    assert prune_access_log(30, dry_run=True) == 7
    assert prune_access_log(30, dry_run=False) == 7
    assert AgentAccess.objects.count() == 2
    assert prune_access_log(30, dry_run=False) == 0


def test_the_commands_figures_of_the_access_log(lines: None, capsys: Any) -> None:
    call_command("prune_access_log", "--older-than", "30", "--dry-run", "--json")
    call_command("prune_access_log", "--older-than", "30", "--json")
    dry, done = map(json.loads, capsys.readouterr().out.splitlines())
    assert (dry, done) == ({"lines": 7, "dry_run": True}, {"lines": 7, "dry_run": False})


@pytest.mark.django_db(transaction=True)
def test_two_prunings_of_the_access_log_delete_each_line_once(lines: None) -> None:
    def prune_log() -> int:
        return prune_access_log(30, dry_run=False)

    with ThreadPoolExecutor(2) as pool:
        done = [each.result() for each in [pool.submit(closing(prune_log)) for _ in range(2)]]
    assert sum(done) + prune_access_log(30, dry_run=False) == 7
    assert AgentAccess.objects.count() == 2
