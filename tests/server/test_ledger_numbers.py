"""What the ledger adds up stays within 64 bits: a number that is too large, or none, is refused by name."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from capture.ledger import Rebuilt, charges_of_hand, rebuild_hands, record_charges
from capture.limits import CHARGE_NUMBER
from capture.models import AgentHand, AgentInferenceCharge
from capture_sdk import RecordError
from capture_sdk.wire import LATENCY_MS_MAX, charge_from_json, charge_json
from tests.charges import NOW, charge

pytestmark = pytest.mark.django_db

NUMBERS = "input_tokens cached_tokens cache_write_tokens output_tokens reasoning_tokens cost_micros".split()


def test_the_largest_numbers_add_up() -> None:
    largest: dict[str, Any] = dict.fromkeys(NUMBERS, CHARGE_NUMBER)
    record_charges([charge(index, **largest) for index in range(3_000)])
    record_charges([charge(index, "b", **largest) for index in range(3_000)])
    assert AgentHand.objects.get().cost_micros == 6_000 * CHARGE_NUMBER > 2**52
    assert rebuild_hands() == Rebuilt(0, 0, 0)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("number", [CHARGE_NUMBER + 1, -1, 2**63, 10**30])
def test_a_number_out_of_its_range_is_refused_before_anything_is_written(name: str, number: int) -> None:
    camel = name.split("_", maxsplit=1)[0]
    wrong: dict[str, Any] = {name: number}
    with pytest.raises(RecordError, match=rf"{camel}\w+ is {number}.* {CHARGE_NUMBER} "):
        record_charges([charge(1), charge(2, **wrong)])
    assert not AgentInferenceCharge.objects.exists()


def test_a_number_too_long_to_write_down_is_refused_all_the_same() -> None:
    with pytest.raises(RecordError, match="costMicros is an integer of 33220 bits"):
        record_charges([charge(1, cost_micros=10**10_000)])


@pytest.mark.parametrize("value", [True, 1.0, 0.5, float("nan"), "12", Decimal(12), b"1", [1]])
def test_a_cost_that_is_no_integer_is_refused(value: object) -> None:
    with pytest.raises(RecordError, match=f"costMicros is .*, a {type(value).__name__}: an integer"):
        record_charges([charge(1, cost_micros=value)])
    assert not AgentInferenceCharge.objects.exists()


@pytest.mark.parametrize("value", [2**31, -1, True, 1.5, None])
def test_a_number_of_attempts_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(RecordError, match="attempts"):
        record_charges([charge(1, attempts=value)])


@pytest.mark.parametrize("value", [LATENCY_MS_MAX + 1, -1, True, 1.5])
def test_a_latency_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(RecordError, match=f"latencyMs is .* {LATENCY_MS_MAX}"):
        record_charges([charge(1, latency_ms=value)])
    with pytest.raises(RecordError, match=f"latencyMs is .* {LATENCY_MS_MAX}"):
        charge_from_json(charge_json(charge(1)) | {"latencyMs": value})


def test_a_latency_comes_back_and_older_charges_have_none() -> None:
    older = charge_json(charge(1))
    del older["latencyMs"]
    newer = charge_json(charge(2, latency_ms=LATENCY_MS_MAX))
    record_charges([charge_from_json(older), charge_from_json(newer)])
    kept = charges_of_hand("t", 1, agent_id=None)
    assert [each.latency_ms for each in kept] == [None, LATENCY_MS_MAX]


def test_a_time_without_its_zone_is_refused() -> None:
    with pytest.raises(RecordError, match="chargedAt is 2024-01-02 12:00:00, which names no offset"):
        record_charges([replace(charge(1), charged_at=NOW.replace(tzinfo=None))])


@pytest.mark.parametrize("name", ["inputTokens", "cacheWriteTokens", "costMicros"])
@pytest.mark.parametrize("value", [CHARGE_NUMBER + 1, -1, 1.5, "5", True])
def test_over_http_a_number_is_refused_in_the_same_words(name: str, value: Any) -> None:
    sent = charge_json(charge(1)) | {name: value}
    with pytest.raises(RecordError, match=f"{name} is .*{value}.* {CHARGE_NUMBER} "):
        charge_from_json(sent)


def test_over_http_the_largest_number_is_taken() -> None:
    sent = charge_json(charge(1)) | {"costMicros": CHARGE_NUMBER}
    assert charge_from_json(sent).cost_micros == CHARGE_NUMBER
