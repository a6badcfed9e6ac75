"""What an agent did not know and the others did: told when it is certain, and otherwise not at all."""

import datetime
import time
from typing import Any

import pytest

from capture.merge import CapturedTurn, Source
from capture_sdk.freeze import pack
from capture_sdk.prompt import PromptStatus
from capture_sdk.records import TurnKey, TurnRecord
from viewer.why.missing import NotKnown
from viewer.why.turns import with_previous
from viewer.why.unseen import Witnesses

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
LOG = [{"agent": agent, "action": action} for action in ("check", "bet", "call") for agent in ("a", "b", "c")]
SEATS = ("ann", "bob", "cat")


def turn(agent: str, index: int, knowledge: object, *, second: int | None = None) -> CapturedTurn:
    key = TurnKey("t", 1, agent, index)
    at = START + datetime.timedelta(seconds=index if second is None else second)
    frozen = None if knowledge is None else pack(knowledge)
    record = TurnRecord(key=key, captured_at=at, knowledge=frozen)
    return CapturedTurn(key, Source.BUFFER, record, None, False, None, PromptStatus.UNAVAILABLE, None)


def hand(**forgotten: list[Any]) -> list[CapturedTurn]:
    """Nine turns of three agents who see everything; ``at_5=[...]`` is what the agent of 5 holds instead."""
    logs = [forgotten.get(f"at_{index}", LOG[:index]) for index in range(9)]
    return [turn(SEATS[index % 3], index, {"actionLog": log}) for index, log in enumerate(logs)]


def found(turns: list[CapturedTurn], index: int) -> tuple[NotKnown, ...]:
    key = next(each.key for each in turns if each.key.action_index == index)
    return Witnesses(turns).not_known(key)


def sentence(turns: list[CapturedTurn], index: int) -> str:
    (only,) = found(turns, index)
    return only.sentence


def test_a_log_that_a_reconnect_emptied_is_noticed() -> None:
    assert sentence(hand(at_7=[]), 7) == (
        "Others at the table had seen 6 entries of actionLog by now; this agent's holds 0: missing are all of them. "
        "It still held 4 of them at 4."
    )


def test_a_log_that_grew_again_lacks_its_beginning() -> None:
    assert sentence(hand(at_7=LOG[3:7]), 7).startswith(
        "Others at the table had seen 6 entries of actionLog by now; this agent's holds 4: missing are the first 3."
    )


@pytest.mark.parametrize(
    ("own", "which"),
    [
        (LOG[:5], "is the last one"),
        (LOG[1:6], "is the first one"),
        ([*LOG[:2], *LOG[3:6]], "is number 3"),
        ([LOG[0], LOG[2], LOG[3], LOG[5]], "are numbers 2 and 5"),
    ],
)
def test_which_entries_are_missing_is_said(own: list[Any], which: str) -> None:
    assert f"missing {which}." in sentence(hand(at_7=own), 7)


def test_who_sees_everything_is_told_nothing() -> None:
    turns = hand()
    assert [found(turns, index) for index in range(9)] == [()] * 9


def test_entries_may_be_texts_and_stand_deeper() -> None:
    turns = [
        turn(
            SEATS[index % 3],
            index,
            {"memory": {"log": [f"move {n}" for n in range(index)][2 if index == 7 else 0 :]}},
        )
        for index in range(9)
    ]
    assert "4 entries" not in sentence(turns, 7)
    assert "of memory.log by now; this agent's holds 5: missing are the first 2." in sentence(turns, 7)


def test_the_same_entries_in_another_order_are_not_missing() -> None:
    assert found(hand(at_7=LOG[:6][::-1]), 7) == ()


def test_keys_in_another_order_are_the_same_entry() -> None:
    assert found(hand(at_7=[dict(reversed(entry.items())) for entry in LOG[:7]]), 7) == ()


def test_one_more_of_the_same_is_missed_by_number() -> None:
    log = ["check"] * 9
    turns = [turn(SEATS[n % 3], n, {"log": log[: n - 2 if n == 7 else n]}) for n in range(9)]
    assert "had seen 6 entries of log by now; this agent's holds 5" in sentence(turns, 7)


PRIVATE: dict[str, list[tuple[str, list[Any]]]] = {
    "private notes": [
        ("ann", ["a1"]),
        ("bob", ["b1", "b2"]),
        ("cat", ["c1"]),
        ("ann", ["a1", "a2"]),
        ("bob", []),
        ("cat", []),
    ],
    "whispers of two": [("bob", ["w1"]), ("cat", ["w1", "w2"]), ("bob", ["w1", "w2", "w3"]), ("ann", [])],
    "own whispers with one": [
        ("bob", ["w1"]),
        ("cat", ["x"]),
        ("bob", ["w1", "w2"]),
        ("bob", ["w1", "w2", "w3"]),
        ("ann", ["w1"]),
    ],
    "legal actions": [
        ("bob", ["fold", "call", "raise"]),
        ("cat", ["fold", "call", "raise"]),
        ("ann", ["fold", "call"]),
    ],
    "players' stacks": [
        ("bob", [["bob", 90], ["ann", 100]]),
        ("cat", [["bob", 90], ["ann", 80]]),
        ("ann", [["bob", 70], ["ann", 80]]),
    ],
    "a window of the last": [("bob", [1, 2, 3]), ("cat", [2, 3, 4]), ("bob", [3, 4, 5]), ("ann", [5])],
    "nobody else": [("ann", [1, 2, 3]), ("ann", [])],
}


@pytest.mark.parametrize("name", PRIVATE)
def test_no_false_alarm_about(name: str) -> None:
    turns = [turn(agent, index, {"it": held}) for index, (agent, held) in enumerate(PRIVATE[name])]
    witnesses = Witnesses(turns)
    assert [witnesses.not_known(each.key) for each in turns] == [()] * len(turns)


def test_what_others_saw_later_does_not_count() -> None:
    turns = [
        *hand()[:6],
        turn("ann", 6, {"actionLog": LOG[:5]}),
        turn("bob", 6, {"actionLog": LOG[:6]}, second=99),
    ]
    assert found(turns[:7], 6) == ()
    assert Witnesses(turns).not_known(turns[6].key) == ()


def test_an_entry_that_only_one_agent_ever_held_is_not_missing() -> None:
    turns = hand()
    secret = {"agent": "bob", "cards": "Kh Qh"}
    turns[4] = turn("bob", 4, {"actionLog": [secret, *LOG[:4]]})
    assert [found(turns, index) for index in (5, 6, 8)] == [(), (), ()]


def test_an_entry_of_one_agents_own_is_not_missing_elsewhere() -> None:
    turns = hand()[:8]
    for index in (1, 4, 7):
        turns[index] = turn("bob", index, {"actionLog": ["bob's own", *LOG[:index]]})
    assert [found(turns, index) for index in (3, 5, 6)] == [(), (), ()]


def test_who_left_early_does_not_hide_what_another_lost() -> None:
    turns = [each for each in hand(at_7=[]) if each.key.action_index not in (5, 8)]
    assert "this agent's holds 0: missing are all of them." in sentence(turns, 7)


def test_where_two_others_lost_theirs_nothing_is_certain() -> None:
    seats, log = (*SEATS, "dan"), [f"move {n}" for n in range(20)]
    turns = [turn(seats[n % 4], n, {"log": [] if n in (5, 6, 12) else log[:n]}) for n in range(16)]
    assert found(turns, 12) == ()
    turns[6] = turn("cat", 6, {"log": log[:6]})
    assert "this agent's holds 0" in sentence(turns, 12)


def test_a_turn_stands_beside_the_agents_previous_one() -> None:
    turns = hand()
    beside = with_previous(turns, turns[7])
    assert beside.before is not None
    assert (beside.before.key, beside.after.key) == (turns[4].key, turns[7].key)
    assert beside.knowledge is not None
    assert beside.knowledge.added == 3
    assert with_previous(turns, turns[1]).before is None


@pytest.mark.parametrize(
    "knowledge", [None, 7, [], {"actionLog": "text"}, {"actionLog": {"$set": [1]}}, {1: [2]}]
)
def test_any_knowledge_is_read(knowledge: object) -> None:
    turns = [*hand(), turn("ann", 9, knowledge)]
    assert found(turns, 9) == ()


def test_a_hand_of_any_size_is_read_in_time() -> None:
    turns = [turn(SEATS[n % 3], n, {"log": [[n, place] for place in range(1_999)]}) for n in range(100)]
    started = time.process_time()
    assert found(turns, 99) == ()
    assert time.process_time() - started < 2
