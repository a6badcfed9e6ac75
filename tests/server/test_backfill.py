"""Turns that were pinned before their charge was written get its version; nothing that stands is changed."""

import json
from typing import Any

import pytest
from django.core.management import call_command

from capture.hands import get_hand_turns
from capture.ledger import record_charges
from capture.models import AgentCallRecord
from capture.pins import backfill
from capture.pins.backfill import Backfilled, backfill_versions
from capture.pins.pin import promote
from tests.build import HAND, TABLE, seat
from tests.charges import charge, pinned_turn

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pinned turns 0 to 6 without a version, of which the ledger knows 0 to 3 with one, and 4 without."""
    monkeypatch.setattr(backfill, "BACKFILL_BATCH_ROWS", 2)
    for index in range(7):
        pinned_turn(index)
    record_charges([charge(index, agent_version_id=f"v{index}") for index in range(4)])
    record_charges([charge(4), charge(5, "rival", agent_version_id="theirs")])
    record_charges([charge(6, agent_version_id="of a fallback", is_fallback=True)])


def versions() -> list[str | None]:
    return list(AgentCallRecord.objects.order_by("id").values_list("agent_version_id", flat=True))


def test_a_turn_gets_the_version_of_the_charge_with_its_key() -> None:
    assert backfill_versions(dry_run=False) == Backfilled(without_version=7, filled=4)
    assert versions() == ["v0", "v1", "v2", "v3", None, None, None]
    assert backfill_versions(dry_run=False) == Backfilled(without_version=3, filled=0)


def test_a_version_that_stands_is_never_changed() -> None:
    AgentCallRecord.objects.filter(action_index=1).update(agent_version_id="pinned")
    assert backfill_versions(dry_run=False) == Backfilled(6, 3)
    assert versions()[:3] == ["v0", "pinned", "v2"]


def test_a_dry_run_counts_and_changes_nothing() -> None:
    assert backfill_versions(dry_run=True) == Backfilled(7, 4)
    assert versions() == [None] * 7


def test_what_was_captured_stays_as_it_was(buffer: Any) -> None:
    turn = seat(version=None).play(1)
    promote(TABLE, HAND, agent_id="river-rat", by="test")
    before = bytes(AgentCallRecord.objects.get(table_id=TABLE).record)
    record_charges([turn.charge()])
    AgentCallRecord.objects.filter(table_id="t").delete()
    assert backfill_versions(dry_run=False) == Backfilled(1, 0)
    assert bytes(AgentCallRecord.objects.get().record) == before
    assert get_hand_turns(TABLE, HAND, agent_id="river-rat").turns[0].agent_version_id is None


def test_the_command_reports_what_it_did(capsys: Any) -> None:
    call_command("backfill_versions", "--dry-run", "--json")
    call_command("backfill_versions", "--json")
    dry, done = map(json.loads, capsys.readouterr().out.splitlines())
    assert dry == {"without_version": 7, "filled": 4, "dry_run": True}
    assert done == {"without_version": 7, "filled": 4, "dry_run": False}
