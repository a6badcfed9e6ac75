"""A seeded ledger is one that the ledger's own rules agree with, and goes as it came."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from capture.ledger import rebuild_hands, record_charges
from capture.ledger.hands import Rebuilt
from capture.ledger.seeding import Seeded, remove_seeded, seed
from capture.models import AgentHand, AgentInferenceCharge
from tests.charges import charge

pytestmark = pytest.mark.django_db
COLUMNS = [field.name for field in AgentHand._meta.fields if field.name != "id"]


def hands() -> list[tuple[object, ...]]:
    return list(AgentHand.objects.order_by("id").values_list(*COLUMNS))


def said(*arguments: str) -> dict[str, int]:
    out = StringIO()
    call_command("seed_ledger", *arguments, "--json", stdout=out)
    return dict(json.loads(out.getvalue()))


def test_a_seeded_ledger_has_the_spread_that_it_promises() -> None:
    assert seed(2_500) == Seeded(2_500, 100)
    rows = AgentInferenceCharge.objects.all()
    assert (rows.filter(is_fallback=True).count(), rows.filter(is_clamped=True).count()) == (100, 25)
    assert rows.filter(is_fallback=True, cost_micros__isnull=False).count() == 0
    assert {len(hand.agents) for hand in AgentHand.objects.all()} == {6}
    assert rows.values("model").distinct().count() == 3


def test_the_rebuild_gives_the_same_hands_as_the_seeding() -> None:
    record_charges([charge(1, cost_micros=5)])
    seed(1_000)
    before = hands()
    assert rebuild_hands() == Rebuilt(0, 0, 0)
    assert hands() == before


def test_seeding_again_adds_nothing_and_seeding_more_adds_the_rest() -> None:
    seed(1_000)
    assert seed(1_000) == Seeded(0, 0)
    assert seed(1_500) == Seeded(500, 20)
    assert AgentInferenceCharge.objects.count() == 1_500


def test_hands_that_are_there_keep_their_length() -> None:
    seed(1_000, per_hand=10)
    assert seed(2_500, per_hand=25) == Seeded(0, 0)
    assert {hand.turns + hand.fallbacks for hand in AgentHand.objects.all()} == {10}


def test_the_newest_hand_comes_first_and_is_of_now() -> None:
    seed(500)
    newest = AgentHand.objects.order_by("-id")[:2]
    assert newest[0].first_at > newest[1].last_at
    assert newest[0].last_at == max(hand.last_at for hand in AgentHand.objects.all())


def test_chunks_are_told_and_make_the_same_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.ledger.seeding.SEED_CHUNK_HANDS", 7)
    told: list[int] = []
    assert seed(500, advance=told.append) == Seeded(500, 20)
    assert told == [175, 175, 150]
    assert AgentHand.objects.count() == 20


def test_removing_leaves_everybody_else_alone() -> None:
    record_charges([charge(1), charge(2, hand=9)])
    before = hands()
    seed(1_000)
    assert remove_seeded() == Seeded(1_000, 40)
    assert hands() == before
    assert AgentInferenceCharge.objects.count() == 2


def test_a_dry_run_counts_and_removes_nothing() -> None:
    assert said("--rows", "500") == {"added": 500, "hands": 20}
    assert said("--remove", "--dry-run") == {"wouldRemove": 500, "hands": 20}
    assert said("--remove") == {"removed": 500, "hands": 20}


@pytest.mark.parametrize("rows", ["0", "-5", "1000000001"])
def test_a_number_that_makes_no_ledger_is_refused(rows: str) -> None:
    with pytest.raises(CommandError, match=r"between 1 and 1,000,000,000"):
        said(f"--rows={rows}")


def test_a_dry_run_of_seeding_is_refused_with_what_to_do() -> None:
    with pytest.raises(CommandError, match="belongs to --remove"):
        said("--rows", "500", "--dry-run")
