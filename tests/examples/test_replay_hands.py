"""Recorded hands, played by people and bots elsewhere, go through the pipeline that live ones take."""

import json
from pathlib import Path
from typing import Any

import pytest

from examples.poker.recorded import BrokenHand, RecordedHand, read
from tests.data import needs
from tests.examples.test_demo import figures, stack
from tests.site_process import manage

__all__ = ["stack"]

HAND = """variant = 'NT'
ante_trimming_status = true
antes = [0, 0, 0]
blinds_or_straddles = [1, 2, 0]
min_bet = 2
starting_stacks = [100.5, 100, 100]
actions = [
  'd dh p1 AsKs', 'd dh p2 2c3c', 'd dh p3 7d8d',  # the deal
  'p3 f', 'p1 cc', 'p2 cc', 'd db 4h5h6h', 'p1 cbr 2', 'p2 f',
]
hand = 3
"""


def hands() -> list[tuple[Path, RecordedHand]]:
    files = sorted(needs("01-hands").rglob("*.phh"))
    return [(file, read(file)) for file in files if file.name != "85.phh"]


def test_every_recorded_hand_replays_but_the_one_that_cannot() -> None:
    assert len(hands()) == 198
    with pytest.raises(BrokenHand, match="line 8: action 19 'p2 cbr 750000' cannot be played"):
        read(needs("01-hands") / "wsop-2023-43-day5" / "85.phh")


def test_each_recorded_action_of_a_player_is_a_move() -> None:
    import tomllib

    for file, hand in hands():
        recorded = [each for each in tomllib.loads(file.read_text())["actions"] if each.startswith("p")]
        assert [move.text for move in hand.moves] == recorded


def test_a_seat_knows_its_own_cards_and_nobody_elses() -> None:
    for file, hand in hands():
        if file.parent.parent.name != "pluribus":
            continue
        shown: set[str] = set()
        for move in hand.moves:
            known = json.dumps({**move.knowledge, "state": {**move.knowledge["state"], "cards": []}})
            hidden = others(hand, move.agent_id) - set(move.knowledge["state"]["board"]) - shown
            assert not [card for card in hidden if f'"{card}"' in known]
            if move.action == "show":
                shown |= {move.text.split()[2][place : place + 2] for place in (0, 2)}


def others(hand: RecordedHand, agent: str) -> set[str]:
    cards = {move.agent_id: move.knowledge["state"]["cards"] for move in hand.moves}
    return {card for name, held in cards.items() if name != agent for card in held}


def test_what_a_stack_was_is_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.phh").write_text(HAND)
    first = read(tmp_path / "a.phh").moves[0]
    assert [player["stack"] for player in first.knowledge["state"]["players"]] == ["99.5", 98, 100]


@pytest.mark.parametrize("number", ["true", "-1", "9223372036854775808", "'seven'"])
def test_a_hand_number_that_no_store_holds_becomes_zero(tmp_path: Path, number: str) -> None:
    (tmp_path / "a.phh").write_text(HAND.replace("hand = 3", f"hand = {number}"))
    assert repr(read(tmp_path / "a.phh").hand_number) == "0"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("p1 cbr 2", "p1 cbr 900"), "line 9: action 8 'p1 cbr 900' cannot be played"),
        (("p1 cc", "p9 cc"), "p9"),
        (("'NT'", "'XX'"), "line 1: the variant 'XX' is not played here"),
        (("hand = 3", f"players = ['{'x' * 201}', 'b', 'c']"), "line 11"),
        (("hand = 3", "players = [7, 'b', 'c']"), "line 11"),
        (("min_bet = 2", "min_bet = "), "line 5"),
        (("starting_stacks = [100.5, 100, 100]", ""), "line 1: the hand cannot be set up"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_reason(
    tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    (tmp_path / "broken.phh").write_text(HAND.replace(*change))
    with pytest.raises(BrokenHand) as caught:
        read(tmp_path / "broken.phh")
    assert complaint in str(caught.value)


def test_the_command_plays_what_it_can_and_names_what_it_cannot(stack: Any, tmp_path: Path) -> None:
    (tmp_path / "good.phh").write_text(HAND)
    (tmp_path / "bad.phh").write_text(HAND.replace("p1 cbr 2", "p1 cbr 900"))
    finished = manage("replay_hands", str(tmp_path), str(tmp_path / "no.phh"), "--json", environment=stack)
    assert finished.returncode == 1
    assert "bad.phh: line 9" in finished.stderr
    assert "no.phh: " in finished.stderr
    result = figures(finished)
    assert (result["hands"], result["turns"], result["verified"], result["missing"]) == (1, 5, 5, 0)
    again = manage("replay_hands", str(tmp_path / "good.phh"), "--json", environment=stack)
    assert (again.returncode, figures(again)["turns"]) == (0, 5)


def test_every_recorded_hand_is_captured_and_verified(stack: Any) -> None:
    finished = manage("replay_hands", str(needs("01-hands")), "--json", environment=stack)
    assert finished.returncode == 1
    assert finished.stderr.count("cannot be played") == 1
    result = figures(finished)
    assert (result["hands"], result["mismatched"], result["missing"]) == (198, 0, 0)
    assert result["turns"] == result["verified"] == 1_999
