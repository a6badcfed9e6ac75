"""The example agent reads answers, corrects what the table would refuse, and plays safe otherwise."""

from typing import Any

import pytest

from examples.poker.agent.decide import Action, make_legal, parse, safe
from examples.poker.agent.memory import Memory

FACING = {"legal": ["fold", "call", "raise"], "toCall": 6, "minRaise": 12, "maxRaise": 180}
FREE = {"legal": ["check", "raise"], "toCall": 0, "minRaise": 2, "maxRaise": 180}


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('I like it.\n{"action": "raise", "amount": 40, "reason": "x"}', Action("raise", 40)),
        ('{"action": "call", "amount": 3}', Action("call")),
        ('{"old": 1}\n{"action": "fold"}', Action("fold")),
        ("I would rather not say.", None),
        ('{"action": "dance"}', None),
        ('{"action": "raise", "amount": "all"}', Action("raise")),
        ("{broken", None),
        ("", None),
    ],
)
def test_the_last_object_of_the_answer_counts(text: str, action: Action | None) -> None:
    assert parse(text) == action


@pytest.mark.parametrize(
    ("asked", "turn", "legal", "rules"),
    [
        (Action("raise", 40), FACING, Action("raise", 40), []),
        (Action("raise", 400), FACING, Action("raise", 180), ["clamp_to_range"]),
        (Action("raise", 3), FACING, Action("raise", 12), ["clamp_to_range"]),
        (Action("raise"), FACING, Action("raise", 12), ["clamp_to_range"]),
        (Action("check"), FACING, Action("fold"), ["nearest_legal_action"]),
        (Action("call"), FREE, Action("check"), ["nearest_legal_action"]),
        (Action("fold"), FREE, Action("check"), ["nearest_legal_action"]),
        (Action("raise", 9), FACING | {"legal": ["fold", "call"]}, Action("call"), ["nearest_legal_action"]),
    ],
)
def test_an_action_is_made_legal_and_every_correction_told(
    asked: Action, turn: dict[str, Any], legal: Action, rules: list[str]
) -> None:
    action, corrections = make_legal(asked, turn)
    assert action == legal
    assert [each.rule for each in corrections] == rules


def test_safe_is_a_check_where_that_is_free_and_a_fold_where_not() -> None:
    assert (safe(FREE), safe(FACING)) == (Action("check"), Action("fold"))


def test_memory_keeps_each_kind_of_frame_in_its_own_way() -> None:
    memory = Memory()
    memory.take_in({"type": "game_state", "handNumber": 1, "pot": 3})
    memory.take_in({"type": "player_action", "agentId": "me", "action": "call"})
    memory.take_in({"type": "game_state", "handNumber": 1, "pot": 5})
    assert (memory.state["pot"], len(memory.action_log)) == (5, 1)
    for number in range(30):
        memory.take_in({"type": "hand_result", "handNumber": number})
    assert [frame["handNumber"] for frame in memory.hand_history] == list(range(10, 30))
    memory.take_in({"type": "game_state", "handNumber": 2, "pot": 3})
    assert memory.action_log == []
