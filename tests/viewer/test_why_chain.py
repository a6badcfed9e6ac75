"""From what was said to what was sent, link by link."""

import datetime
import time
from typing import Any

import pytest

from capture_sdk.freeze import pack
from capture_sdk.records import Adjustment, TurnKey, TurnRecord
from viewer.why.chain import Chain, chain_of

ANSWER = 'Top pair. {"note": "no action"}\n{"action": "raise", "amount": 240, "reason": "value"}'
PARSED = '{"action": "raise", "amount": 240, "reason": "value"}'


def chain(response: str | bytes | None = ANSWER, **facts: Any) -> Chain:
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    given: dict[str, Any] = {"action": "raise", "amount": 240} | facts
    return chain_of(TurnRecord(key=TurnKey("t", 1, "a", 1), captured_at=now, response=response, **given))


def sent(amount: int) -> bytes:
    return pack([{"type": "player_action", "action": "raise", "amount": amount}])


def test_the_parsed_object_is_shown_as_it_stands_in_the_answer() -> None:
    said = chain().said
    assert said is not None
    assert (said.text, said.is_action, said.size) == (PARSED, True, len(ANSWER))


def test_a_rule_stands_between_parsed_and_sent_with_its_reason() -> None:
    rule = Adjustment("clamp_to_range", 240, 200, "max 200")
    found = chain(decision=sent(200), adjustments=(rule,))
    assert [(link.label, link.value, link.is_change) for link in found.links] == [
        ("parsed", "raise 240", False),
        ("clamp_to_range", "240 → 200", True),
        ("sent", "raise 200", False),
    ]
    assert found.is_clamped


def test_a_change_that_no_rule_explains_is_said_to_be_one() -> None:
    link = chain(decision=sent(200)).links[-1]
    assert (link.is_change, link.why) == (True, "no rule says why")


def test_what_was_not_captured_is_no_link() -> None:
    found = chain(None, action=None, amount=None)
    assert found == Chain(None, (), False)


def test_a_turn_from_which_nothing_left_sent_nothing() -> None:
    assert chain(decision=pack([])).links[-1].value == "nothing"


@pytest.mark.parametrize(
    "answer", ["I raise to 240", '{"action": "fold"}', '{"action": "raise", "amount": 99}', "{" * 9, ""]
)
def test_without_the_parsed_object_only_the_first_line_is_shown(answer: str) -> None:
    said = chain(answer + "\nmore").said
    assert said is not None
    assert (said.text, said.is_action) == (answer.lstrip() or "more", False)


@pytest.mark.parametrize(
    "answer", ['{"action": " RAISE", "amount": "240"}', b'\xff{"action": "raise", "amount": 240.0}']
)
def test_the_spelling_of_case_and_amount_may_differ(answer: str | bytes) -> None:
    said = chain(answer).said
    assert said is not None
    assert said.is_action


def test_the_last_of_several_is_the_one() -> None:
    first = '{"action": "raise", "amount": 240}'
    said = chain(f"{first} or {PARSED}").said
    assert said is not None
    assert said.text == PARSED


@pytest.mark.parametrize(
    "answer", ["{" * 1_000_000, '{"a":' * 500_000, "x" * 10_000_000, PARSED + '{"a":1,' * 100_000]
)
def test_hostile_answers_are_read_in_time(answer: str) -> None:
    started = time.process_time()
    said = chain(answer).said
    assert said is not None
    assert not said.is_action
    assert len(said.text) <= 200
    assert time.process_time() - started < 1
