"""Keep this hand: the closure in one transaction, true outcomes, no Redis needed afterwards."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from capture.hands import StoresUnavailable, get_hand_all, get_hand_turns
from capture.ledger import record_charges
from capture.merge import HandState, Source
from capture.models import AgentCallEnvelope, AgentCallRecord
from capture.pins.pin import PinStatus, promote
from capture_sdk.codec import compress
from tests.build import ENVELOPE, HAND, TABLE, fall_back, play, seat

pytestmark = pytest.mark.django_db


def keep(agent_id: str = "river-rat") -> tuple[str, int, int, int]:
    pin = promote(TABLE, HAND, agent_id=agent_id, by="test")
    return (pin.status, pin.inserted, pin.total, pin.missing)


def test_a_pin_says_what_it_did(buffer: Any) -> None:
    at = seat()
    play(at, 1)
    play(at, 5)
    assert keep() == ("pinned", 2, 2, 0)
    assert keep() == ("already_pinned", 0, 2, 0)


def test_a_fallback_only_hand_has_nothing_to_capture(buffer: Any) -> None:
    fall_back(seat(), 1)
    assert keep() == ("nothing_to_capture", 0, 0, 0)


def test_the_outcome_is_the_agents_own(buffer: Any) -> None:
    play(seat("rival"), 1)
    keep("rival")
    assert keep() == ("nothing_to_capture", 0, 0, 0)


def test_two_agents_can_share_an_action_index(buffer: Any) -> None:
    play(seat("a"), 1)
    play(seat("b"), 1)
    assert keep("a")[1] == keep("b")[1] == 1
    assert AgentCallRecord.objects.count() == 2


def test_a_partial_pin_says_what_is_missing_and_is_completed_later(buffer: Any) -> None:
    at = seat()
    play(at, 1)
    late = at.play(2)
    record_charges([late.charge()])
    kept = buffer.get("turn:table-7:42:river-rat:2")
    buffer.delete("turn:table-7:42:river-rat:2")
    assert keep() == ("pinned", 1, 1, 1)
    assert keep() == ("already_pinned", 0, 1, 1)
    buffer.set("turn:table-7:42:river-rat:2", kept, ex=100)
    assert keep() == ("pinned", 1, 2, 0)


def test_turns_that_arrive_after_a_pin_are_added_by_the_next(buffer: Any) -> None:
    at = seat()
    play(at, 1)
    keep()
    play(at, 2)
    assert keep() == ("pinned", 1, 2, 0)


def test_a_pinned_hand_reads_whole_when_the_buffer_has_expired(buffer: Any) -> None:
    play(seat(), 1, reasoning="because", knowledge={"a": {1, 2}})
    before = get_hand_all(TABLE, HAND).turns[0].record
    keep()
    buffer.flushall()
    view = get_hand_all(TABLE, HAND)
    (turn,) = view.turns
    assert turn.record == before
    assert (turn.source, turn.prompt_status, view.standing.state) == (
        Source.DURABLE,
        "verified",
        HandState.PINNED,
    )


def test_both_generations_of_a_changed_strategy_verify_after_a_pin(buffer: Any) -> None:
    at = seat()
    play(at, 1)
    play(at, 2, envelope=ENVELOPE + "Be bolder now.")
    keep()
    buffer.flushall()
    turns = get_hand_turns(TABLE, HAND, agent_id="river-rat").turns
    assert [turn.prompt_status for turn in turns] == ["verified", "verified"]
    assert AgentCallEnvelope.objects.count() == 2


def test_an_envelope_is_stored_with_each_hand_and_agent_that_needs_it(buffer: Any) -> None:
    for hand_number in (1, 2):
        for agent in ("a", "b"):
            play(seat(agent, hand_number=hand_number), 1)
            promote(TABLE, hand_number, agent_id=agent, by="test")
    assert AgentCallEnvelope.objects.count() == 4


def test_the_version_is_taken_from_the_charge_when_the_record_has_none(buffer: Any) -> None:
    at = seat(version=None)
    turn = at.play(1)
    record_charges([turn.charge(agent_version_id="v9")])
    keep()
    assert AgentCallRecord.objects.get().agent_version_id == "v9"


def test_a_damaged_envelope_is_not_kept_as_a_good_one(buffer: Any) -> None:
    play(seat(), 1)
    (key,) = buffer.keys("env:*")
    buffer.set(key, b"another text", ex=100)
    assert keep() == ("pinned", 1, 1, 0)
    assert not AgentCallEnvelope.objects.exists()
    assert get_hand_all(TABLE, HAND).turns[0].prompt_status == "mismatched"


def test_an_envelope_that_comes_back_completes_the_pin(buffer: Any) -> None:
    at = seat()
    play(at, 1)
    buffer.delete(*buffer.keys("env:*"))
    keep()
    play(at, 2)
    assert keep() == ("pinned", 1, 2, 0)
    buffer.flushall()
    turns = get_hand_turns(TABLE, HAND, agent_id="river-rat").turns
    assert [turn.prompt_status for turn in turns] == ["verified", "verified"]


def test_a_byte_flipped_at_rest_in_postgres_is_a_mismatch(buffer: Any) -> None:
    play(seat(), 1)
    keep()
    buffer.flushall()
    AgentCallEnvelope.objects.update(body=compress(ENVELOPE.encode().replace(b"careful", b"carefuL", 1)))
    assert get_hand_all(TABLE, HAND).turns[0].prompt_status == "mismatched"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE agent_call_records SET record = set_byte(record, 9, 1)",
        "UPDATE agent_call_envelopes SET body = set_byte(body, 9, 1)",
    ],
)
def test_what_is_damaged_at_rest_is_replaced_while_the_buffer_has_it(buffer: Any, damage: str) -> None:
    for index in (1, 2):
        play(seat(), index)
    keep()
    with connection.cursor() as cursor:
        cursor.execute(damage)
    assert keep() == ("already_pinned", 0, 2, 0)
    buffer.flushall()
    turns = get_hand_turns(TABLE, HAND, agent_id="river-rat").turns
    assert [turn.prompt_status for turn in turns] == ["verified", "verified"]


@pytest.mark.django_db(transaction=True)
def test_turns_that_arrive_while_pins_run_are_all_kept_in_the_end(buffer: Any) -> None:
    def write() -> None:
        at = seat()
        for index in range(40):
            play(at, index)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        totals = []
        while not writing.done():
            totals.append(keep()[2])
        writing.result()
    assert totals == sorted(totals)
    assert (keep()[2:], keep()[:2]) == ((40, 0), ("already_pinned", 0))


@pytest.mark.parametrize("text", ["nul\x00", "half \ud83d", "\u202e\x1b[2J", "♠" * 1000])
def test_whatever_python_can_hold_is_pinned_and_read_back(buffer: Any, text: str) -> None:
    knowledge = {"note": text, text: [text]}
    play(seat(), 1, envelope=text, remainder=text, response=text, reasoning=text, knowledge=knowledge)
    before = get_hand_all(TABLE, HAND).turns[0].record
    keep()
    buffer.flushall()
    after = get_hand_all(TABLE, HAND).turns[0].record
    assert after == before
    assert after is not None
    assert (after.response, after.reasoning) == (text, text)


def test_bytes_that_are_not_text_are_pinned_as_they_are(buffer: Any) -> None:
    play(seat(), 1, envelope=b"\xff\xfe", remainder=b"\x00\x80", response=b"\xc3\x28")
    keep()
    buffer.flushall()
    record = get_hand_all(TABLE, HAND).turns[0].record
    assert record is not None
    assert record.prompt is not None
    assert (record.prompt.whole(), record.response) == (b"\xff\xfe\n\x00\x80", b"\xc3\x28")


def test_no_credential_reaches_postgres(buffer: Any) -> None:
    play(seat(), 1, knowledge={"agentToken": "tok-c0ffee-c0ffee"})
    keep()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM agent_call_records WHERE position('c0ffee'::bytea IN record) > 0"
        )
        assert cursor.fetchone() == (0,)
    record = get_hand_all(TABLE, HAND).turns[0].record
    assert record is not None
    assert b"c0ffee" not in (record.knowledge or b"") + (record.decision or b"")


def test_a_buffer_that_is_down_is_never_a_status(buffer: Any, dead_buffer: None) -> None:
    with pytest.raises(StoresUnavailable):
        keep()


@pytest.mark.django_db(transaction=True)
def test_two_at_once_both_succeed_and_count_once(buffer: Any) -> None:
    at = seat()
    for index in range(20):
        play(at, index)

    def pin(_: int) -> tuple[str, int, int, int]:
        try:
            return keep()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(pin, range(4)))
    assert sorted(outcome[1] for outcome in outcomes) == [0, 0, 0, 20]
    assert {outcome[0] for outcome in outcomes} == {PinStatus.PINNED, PinStatus.ALREADY_PINNED}
    assert AgentCallRecord.objects.count() == 20
