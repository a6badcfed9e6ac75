"""A turn belongs to the agent that took it, holds its four parts, and is never felt."""

import asyncio
import threading
from typing import Any

import pytest

from capture_sdk import Client, MemoryTransport, current_turn, knowledge
from capture_sdk.freeze import unpack
from capture_sdk.turns import Turn
from tests.build import ENVELOPE, REMAINDER, Seat, memory_client, take


@knowledge
def build_prompt(state: Any, action_log: list[Any], *, notes: Any = ()) -> tuple[str, str]:
    return ENVELOPE, f"{state} {action_log} {notes}"


def only(transport: MemoryTransport) -> Any:
    (record,) = transport.records()
    return record


def test_a_turn_holds_its_four_parts() -> None:
    client, transport = memory_client()
    Seat(client).play(7, response="raise!", reasoning="top pair", parsed=("raise", 120))
    record = only(transport)
    assert unpack(record.knowledge) == {"state": {"pot": 140}, "actionLog": []}
    assert record.prompt.text() == f"{ENVELOPE}\n{REMAINDER}"
    assert (record.response, record.reasoning) == ("raise!", "top pair")
    assert record.sent == ("raise", 120)


def test_knowledge_binds_by_signature_and_freezes_at_the_call() -> None:
    client, transport = memory_client()
    at = Seat(client)
    log = ["maniac bets 60"]
    with at.turn(1) as turn:
        build_prompt({"pot": 1}, log, notes={"tight"})
        log.append("later")
        turn.response("ok")
    client.flush()
    known = unpack(only(transport).knowledge)
    assert known == {"state": {"pot": 1}, "action_log": ["maniac bets 60"], "notes": {"$set": ["tight"]}}


def test_a_memory_source_added_later_lands_in_the_trace_by_itself() -> None:
    @knowledge
    def richer(state: Any, whispers: Any = "none yet") -> None: ...

    client, transport = memory_client()
    with Seat(client).turn(1) as turn:
        richer({"pot": 1})
        turn.response("ok")
    client.flush()
    assert unpack(only(transport).knowledge) == {"state": {"pot": 1}, "whispers": "none yet"}


def test_a_method_is_bound_without_its_self() -> None:
    class Brain:
        @knowledge
        def context(self, state: Any) -> str:
            return "prompt"

    client, transport = memory_client()
    with Seat(client).turn(1) as turn:
        assert Brain().context({"pot": 2}) == "prompt"
        turn.response("ok")
    client.flush()
    assert unpack(only(transport).knowledge) == {"state": {"pot": 2}}


def test_a_wrong_call_of_the_builder_fails_as_it_would_without_us() -> None:
    client, _ = memory_client()
    with Seat(client).turn(1), pytest.raises(TypeError, match="missing 2 required"):
        build_prompt()  # type: ignore[call-arg]


def test_outside_a_turn_nothing_is_recorded() -> None:
    assert current_turn() is None
    assert build_prompt({}, []) == (ENVELOPE, "{} [] ()")


def test_unset_is_not_empty() -> None:
    client, transport = memory_client()
    with client.turn(table_id="t", hand_number=1, agent_id="a", action_index=1) as turn:
        turn.response("ok")
    with Seat(client).turn(2) as turn:
        turn.knows()
        turn.response("")
    client.flush()
    bare, empty = transport.records()
    assert (bare.knowledge, bare.messages, bare.prompt) == (None, None, None)
    assert (unpack(empty.knowledge or b""), empty.messages, empty.response) == ({}, [], "")


@pytest.mark.parametrize(
    ("parsed", "sent", "clamped"),
    [
        (("raise", 240), {"action": "raise", "amount": 200}, True),
        (("raise", 200), {"action": "raise", "amount": 200}, False),
        (("raise", 200), {"action": "raise", "amount": 200.0}, False),
        (("raise", 240), {"action": "call", "amount": 60}, True),
        (("call", None), {"action": "call", "amount": 60}, False),
    ],
)
def test_clamped_is_computed_from_what_left(parsed: Any, sent: Any, clamped: bool) -> None:
    client, transport = memory_client()
    turn = Seat(client).play(1, parsed=parsed, sent=sent)
    assert only(transport).is_clamped is clamped
    assert turn.charge().is_clamped is clamped


def test_an_adjustment_is_kept_as_stated() -> None:
    client, transport = memory_client()
    at = Seat(client)
    before = {"amount": 240}
    with at.turn(1) as turn:
        take(turn, at.outbox)
        turn.adjusted("clamp_to_range", before, 200, "the largest raise is 200")
        before["amount"] = 1
    client.flush()
    (step,) = only(transport).adjustments
    assert (step.rule, step.before, step.after) == ("clamp_to_range", {"amount": 240}, 200)


def test_a_fallback_leaves_a_charge_and_no_record() -> None:
    client, transport = memory_client()
    turn = Seat(client).fall_back(3, "timeout")
    client.flush()
    charge = turn.charge()
    assert transport.records() == []
    assert (charge.is_fallback, charge.fallback_reason, charge.attempts) == (True, "timeout", 1)
    assert (charge.action, charge.is_clamped, charge.input_tokens) == ("fold", False, None)


def test_failed_attempts_of_a_turn_are_listed_and_paid_for() -> None:
    client, transport = memory_client()
    at = Seat(client)
    with at.turn(1) as turn:
        turn.attempt("500", latency_ms=12.0, error="server error")
        turn.attempt("unusable", response="¯\\_(ツ)_/¯", usage={"prompt_tokens": 100, "completion_tokens": 5})
        take(turn, at.outbox, usage={"prompt_tokens": 100, "completion_tokens": 20})
    client.flush()
    assert [each.status for each in only(transport).attempts] == ["500", "unusable", "ok"]
    assert only(transport).attempts[1].response == "¯\\_(ツ)_/¯"
    assert (turn.charge().input_tokens, turn.charge().output_tokens, turn.charge().attempts) == (200, 25, 3)


@pytest.mark.parametrize(
    ("waits", "together"),
    [([12.4, 1_900.0], 1_912), ([12.0, None], None), ([float("nan")], None), ([-1], None), (["1"], None)],
)
def test_the_waits_of_all_calls_add_up_and_nonsense_is_unknown(
    waits: list[Any], together: int | None
) -> None:
    client, _ = memory_client()
    with Seat(client).turn(1) as turn:
        for wait in waits[:-1]:
            turn.attempt("500", latency_ms=wait)
        turn.response("ok", latency_ms=waits[-1])
    assert turn.charge().latency_ms == together


def test_an_exception_is_the_agents_own_and_its_name_is_recorded() -> None:
    client, transport = memory_client()
    at = Seat(client)

    def fail_after_answering() -> None:
        with at.turn(1) as turn:
            take(turn, at.outbox)
            raise KeyError("secret detail")

    with pytest.raises(KeyError):
        fail_after_answering()
    client.flush()
    assert only(transport).error == "KeyError"


def test_a_fault_of_the_recorder_is_counted_and_not_felt(caplog: pytest.LogCaptureFixture) -> None:
    client, _ = memory_client()
    with Seat(client).turn(1) as turn:
        turn.prompt(object())  # type: ignore[arg-type]
        turn.parsed("fold")
    assert client.stats().faults == 1
    assert "capture fault in prompt" in caplog.text


@pytest.mark.parametrize("bad", ["", "x" * 201, "half \ud83d", "nul\x00", None, 7])
def test_a_turn_with_a_bad_id_is_played_and_counted(bad: Any) -> None:
    client, transport = memory_client()
    with client.turn(table_id=bad, hand_number=1, agent_id="a", action_index=0) as turn:
        turn.response("ok")
    client.flush()
    assert transport.records() == []
    assert client.stats().lost == {"bad_id": 1}


def test_threads_do_not_share_a_turn() -> None:
    client, transport = memory_client()

    def work(agent: str) -> None:
        at = Seat(client, agent)
        for index in range(20):
            with at.turn(index) as turn:
                build_prompt({"me": agent}, [])
                take(turn, at.outbox, knowledge={"me": agent}, response=agent)

    threads = [threading.Thread(target=work, args=(f"agent-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.flush()
    assert {(each.key.agent_id, each.response) for each in transport.records()} == {
        (f"agent-{number}", f"agent-{number}") for number in range(8)
    }


def test_tasks_do_not_share_a_turn() -> None:
    client, transport = memory_client()

    async def work(agent: str) -> None:
        async with Seat(client, agent).turn(1) as turn:
            await asyncio.sleep(0)
            assert current_turn() is turn
            build_prompt({"me": agent}, [])
            await asyncio.sleep(0)
            turn.response(agent)

    async def run() -> None:
        await asyncio.gather(*(work(f"agent-{number}") for number in range(8)))

    asyncio.run(run())
    client.flush()
    for record in transport.records():
        assert unpack(record.knowledge or b"")["state"] == {"me": record.key.agent_id}  # type: ignore[index]


def test_off_is_an_object_too() -> None:
    client = Client.off()
    with Seat(client).turn(1) as turn:
        take(turn, Seat(client).outbox)
    assert isinstance(turn, Turn)
    assert client.flush()
