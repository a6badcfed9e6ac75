"""What an agent knew at one turn against another, by path, for any values."""

import datetime
import decimal
import math
import time
from dataclasses import dataclass
from typing import Any

import pytest

from capture_sdk.freeze import pack
from viewer.why.known import KnowledgeDiff, knowledge_diff


def compared(before: object, after: object) -> KnowledgeDiff:
    found = knowledge_diff(pack(before), pack(after))
    assert found is not None
    return found


def lines(before: object, after: object) -> list[str]:
    """Each change in a line: its path, its kind, and the values."""
    found = compared(before, after).changes
    return [
        f"{each.path} {each.kind} {each.before.text if each.before else ''}>{each.after.text if each.after else ''}"
        for each in found
    ]


@dataclass
class Table:
    pot: int
    board: tuple[str, ...]


def test_changes_are_named_by_their_paths() -> None:
    before = {"state": {"pot": 140, "old": None}, "actionLog": [{"action": "bet"}]}
    after = {"state": {"pot": 200, "new": [1]}, "actionLog": [{"action": "bet"}, {"action": "call"}]}
    assert lines(before, after) == [
        "state.pot changed 140>200",
        "state.old removed null>",
        "state.new added >[1]",
        'actionLog[1] added >{"action": "call"}',
    ]


def test_what_was_appended_to_a_list_is_an_addition() -> None:
    assert lines({"log": [1, 2]}, {"log": [1, 2, 3]}) == ["log[2] added >3"]
    assert lines({"log": [1, 2]}, {"log": []}) == ["log[0] removed 1>", "log[1] removed 2>"]


def test_keys_that_are_no_names_are_quoted() -> None:
    assert lines({"a b": 1, "": 1}, {"a b": 2, "": 1}) == ['["a b"] changed 1>2']


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, None), ("1", 1), ([], {}), (b"a", "a")])
def test_values_of_different_kinds_are_different(one: object, other: object) -> None:
    assert compared({"v": one}, {"v": other}).changed == 1


def test_not_a_number_is_itself() -> None:
    assert compared({"v": math.nan}, {"v": math.nan}).total == 0


def test_the_order_of_keys_is_no_difference() -> None:
    assert compared({"a": 1, "b": 2}, {"b": 2, "a": 1}).total == 0


def test_forms_of_values_that_json_lacks_are_compared_as_what_they_are() -> None:
    assert lines({"t": Table(1, ("K♠",))}, {"t": Table(2, ("K♠", "7♦"))}) == [
        "t.pot changed 1>2",
        't.board[1] added >"7♦"',
    ]
    assert lines({"s": {1, 2}}, {"s": {1, 3}}) == ['s changed {"$set": [1, 2]}>{"$set": [1, 3]}']


@pytest.mark.parametrize(
    "odd",
    [
        decimal.Decimal("1.10"),
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        {1: {2: 3}},
        {"$set": 1},
        {"$dataclass": 7},
        {"$tuple": {}},
        object(),
        [10**5_000],
        "\ud800\u202e</script>",
    ],
)
def test_any_value_is_compared(odd: Any) -> None:
    assert compared({"v": odd}, {"v": odd}).total == 0
    assert compared({"v": odd}, {"v": [odd]}).total == 1


def test_deep_and_wide_knowledge_is_bounded_and_counted() -> None:
    deep: Any = "bottom"
    for _ in range(60):
        deep = {"in": [deep]}
    assert compared(deep, {"in": []}).total == 1
    wide = compared({"v": list(range(50_000))}, {"v": list(range(1, 50_001))})
    assert (len(wide.changes), wide.total, wide.not_shown) == (200, 50_000, 49_800)


def test_far_down_a_value_is_compared_as_one() -> None:
    before: Any = 1
    after: Any = 2
    for _ in range(60):
        before, after = [before], [after]
    (change,) = compared({"v": before}, {"v": after}).changes
    assert change.path == "v" + "[0]" * 15


def test_a_tuple_is_no_list() -> None:
    assert compared({"v": (1, 2)}, {"v": [1, 2]}).changed == 1


def test_of_more_than_can_be_counted_it_says_at_least() -> None:
    before = {f"k{item}": list(range(100_000)) for item in range(5)}
    after = {f"k{item}": list(range(1, 100_001)) for item in range(5)}
    started = time.process_time()
    found = compared(before, after)
    assert (found.total, found.is_counted, len(found.changes)) == (200_000, False, 200)
    assert compared(before, before | {"k0": []}).is_counted
    assert time.process_time() - started < 3


def test_a_long_value_is_cut_with_its_size() -> None:
    (change,) = compared({"v": "x"}, {"v": "y" * 1_000_000}).changes
    assert change.after is not None
    assert change.after.is_cut
    assert (len(change.after.text), change.after.size) == (201, 1_000_002)


def test_knowledge_that_was_not_captured_is_not_compared() -> None:
    assert knowledge_diff(None, pack({})) is None
    assert knowledge_diff(pack({}), None) is None


def test_knowledge_that_is_no_mapping_is_compared_too() -> None:
    assert lines(1, 2) == ["knowledge changed 1>2"]
