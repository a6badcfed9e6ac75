"""The ledger counts each inference once, and its one-row-a-hand table agrees with it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.db import connection

from capture.ledger import charges_of_hand, record_charges
from capture.models import AgentHand, AgentInferenceCharge
from capture_sdk import IdError, TurnKey
from tests.charges import NOW, charge


@pytest.mark.django_db
def test_a_charge_sent_again_counts_nothing_twice() -> None:
    assert record_charges([charge(1, cost_micros=5), charge(2, cost_micros=7)]) == 2
    assert record_charges([charge(2, cost_micros=7), charge(3)]) == 1
    hand = AgentHand.objects.get()
    assert (hand.turns, hand.cost_micros) == (3, 12)


@pytest.mark.django_db
def test_of_two_charges_with_one_key_the_first_stays() -> None:
    record_charges([charge(1, model="first"), charge(1, model="second")])
    record_charges([charge(1, model="third")])
    assert [row.model for row in AgentInferenceCharge.objects.all()] == ["first"]


@pytest.mark.django_db
def test_a_hand_adds_up_what_its_charges_say() -> None:
    record_charges([charge(1), charge(2, "b", is_clamped=True, cost_micros=2**39)])
    record_charges([charge(3, "c", is_fallback=True), charge(4, "b", is_redacted=True, cost_micros=2**39)])
    hand = AgentHand.objects.get()
    assert (hand.agents, hand.turns, hand.fallbacks, hand.clamped, hand.redacted) == (
        ["a", "b", "c"],
        3,
        1,
        1,
        1,
    )
    assert hand.cost_micros == 2**40
    assert (hand.last_at - hand.first_at).total_seconds() == 3


@pytest.mark.django_db
def test_an_unknown_cost_is_not_zero() -> None:
    record_charges([charge(1)])
    assert AgentHand.objects.get().cost_micros is None
    assert charges_of_hand("t", 1, agent_id="a")[0].input_tokens is None


@pytest.mark.django_db
def test_a_charge_comes_back_as_it_was_written() -> None:
    full = charge(
        2**63 - 1,
        amount=2**80,
        action="raise",
        usage=b"\x81\xa1x\x01",
        agent_version_id="v\N{SNOWMAN}",
        fallback_reason="timeout",
        reasoning_tokens=2**39,
    )
    record_charges([replace(full, charged_at=NOW)])
    assert charges_of_hand("t", 1, agent_id=None) == [replace(full, charged_at=NOW)]


@pytest.mark.django_db
@pytest.mark.parametrize("amount", [0.1, 240, "all-in", None])
def test_an_amount_stays_what_it_was(amount: float | str | None) -> None:
    record_charges([charge(1, amount=amount)])
    assert charges_of_hand("t", 1, agent_id="a")[0].amount == amount


@pytest.mark.django_db
def test_text_that_postgres_refuses_costs_no_charge() -> None:
    record_charges([charge(1, model="m\x00\ud83d"), charge(2)])
    assert len(charges_of_hand("t", 1, agent_id="a")) == 2


@pytest.mark.django_db
def test_a_key_that_is_not_accepted_writes_nothing() -> None:
    bad = replace(charge(1), key=TurnKey("", 1, "a", 1))
    with pytest.raises(IdError, match="tableId"):
        record_charges([charge(1), bad])
    assert not AgentInferenceCharge.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_parallel_writers_of_the_same_hands_lose_nothing() -> None:
    def write(agent: str) -> int:
        try:
            return sum(
                record_charges([charge(index, agent, hand=hand) for hand in range(5)]) for index in range(10)
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(write, "abcd")) == 200
    assert sum(hand.turns for hand in AgentHand.objects.all()) == 200
    assert all(hand.agents == ["a", "b", "c", "d"] for hand in AgentHand.objects.all())


@pytest.mark.django_db(transaction=True)
def test_the_same_charges_sent_at_once_in_other_orders_are_each_written_once() -> None:
    charges = [charge(index, hand=index % 7) for index in range(1_500)]

    def write(start: int) -> int:
        try:
            return record_charges([*charges[start:], *charges[: start // 2]])
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(write, [0, 900, 300, 1_200])) == 1_500
    assert sum(hand.turns for hand in AgentHand.objects.all()) == 1_500


@pytest.mark.django_db
def test_a_hand_stands_where_its_first_charge_stands() -> None:
    record_charges([charge(1, hand=1)])
    record_charges([charge(1, hand=2), charge(2, hand=1)])
    firsts = AgentInferenceCharge.objects.filter(action_index=1).values_list("hand_number", "id")
    assert dict(AgentHand.objects.values_list("hand_number", "id")) == dict(firsts)
