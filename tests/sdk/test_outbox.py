"""The one door out: what is sent is untouched, and the copy carries no credential."""

import asyncio
import json
from typing import Any

import pytest

from capture_sdk import AsyncOutbox, Outbox
from capture_sdk.freeze import unpack
from tests.build import Seat, memory_client, take

TOKEN = "tok-c0ffee-c0ffee"


def decision(outbox: "Outbox[Any, Any] | AsyncOutbox[Any, Any]") -> Any:
    return unpack(outbox.drain()[0])


def test_what_is_sent_is_the_very_object() -> None:
    sent: list[Any] = []
    message = {"action": "call", "agentToken": TOKEN}
    Outbox(sent.append).send(message)
    assert sent[0] is message
    assert message == {"action": "call", "agentToken": TOKEN}


def test_messages_of_a_turn_are_its_decision() -> None:
    outbox: Outbox[Any, None] = Outbox(lambda message: None)
    outbox.reset()
    outbox.send({"say": "hello"})
    outbox.send({"action": "fold"})
    assert decision(outbox) == [{"say": "hello"}, {"action": "fold"}]


def test_messages_outside_a_turn_pass_and_are_not_recorded() -> None:
    sent: list[Any] = []
    outbox = Outbox(sent.append)
    outbox.send({"type": "sit"})
    outbox.reset()
    assert decision(outbox) == []
    outbox.send({"type": "stand"})
    assert sent == [{"type": "sit"}, {"type": "stand"}]


def test_a_turn_opens_with_an_empty_outbox() -> None:
    outbox: Outbox[Any, None] = Outbox(lambda message: None)
    outbox.reset()
    outbox.send({"action": "raise"})
    outbox.reset()
    assert decision(outbox) == []


def test_a_message_that_never_left_is_not_a_decision() -> None:
    def refuse(message: Any) -> None:
        raise ConnectionError("gone")

    outbox = Outbox(refuse)
    outbox.reset()
    with pytest.raises(ConnectionError):
        outbox.send({"action": "raise"})
    assert decision(outbox) == []


def test_a_sender_that_changes_the_message_does_not_change_the_copy() -> None:
    outbox: Outbox[Any, None] = Outbox(lambda message: message.clear())
    outbox.reset()
    outbox.send({"action": "raise"})
    assert decision(outbox) == [{"action": "raise"}]


@pytest.mark.parametrize(
    "name", ["agentToken", "agent_token", "agent-token", "AGENT_TOKEN", "apiKey", "password"]
)
def test_a_credential_is_marked_by_its_name(name: str) -> None:
    outbox: Outbox[Any, None] = Outbox(lambda message: None)
    outbox.reset()
    outbox.send({"seat": {"auth": [{name: TOKEN}]}})
    assert decision(outbox) == [{"seat": {"auth": [{name: "[REDACTED]"}]}}]


@pytest.mark.parametrize("name", ["max_tokens", "tokens", "token_count", "actionIndex", "amount", "keyboard"])
def test_an_innocent_name_keeps_its_value(name: str) -> None:
    outbox: Outbox[Any, None] = Outbox(lambda message: None)
    outbox.reset()
    outbox.send({name: 4096})
    assert decision(outbox) == [{name: 4096}]


def test_a_token_learnt_outside_a_turn_is_marked_where_it_is_echoed() -> None:
    outbox: Outbox[Any, None] = Outbox(lambda message: None)
    outbox.send({"type": "enter", "agentToken": TOKEN})
    outbox.reset()
    outbox.send({"note": f"signed {TOKEN}!"})
    assert decision(outbox) == [{"note": "signed [REDACTED]!"}]


@pytest.mark.parametrize("shape", [str, str.encode], ids=["text", "bytes"])
def test_a_message_that_is_json_text_loses_its_credential_and_nothing_else(shape: Any) -> None:
    outbox: Outbox[Any, None] = Outbox(lambda message: None)
    outbox.reset()
    text = json.dumps({"action": "raise", "amount": 1.50, "agentToken": TOKEN, "ünicode": "♠"})
    outbox.send(shape(text))
    assert decision(outbox) == [shape(text.replace(TOKEN, "[REDACTED]"))]


def test_an_async_outbox_waits_for_the_send() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> str:
        await asyncio.sleep(0)
        sent.append(message)
        return "done"

    async def run() -> str:
        outbox = AsyncOutbox(send)
        outbox.reset()
        answer = await outbox.send({"action": "check"})
        assert decision(outbox) == [{"action": "check"}]
        return answer

    assert asyncio.run(run()) == "done"
    assert sent == [{"action": "check"}]


def test_nothing_of_a_failed_turn_bleeds_into_the_next() -> None:
    client, transport = memory_client()
    at = Seat(client)
    at.fall_back(1)
    with at.turn(2) as turn:
        take(turn, at.outbox, parsed=("call", 60), response="call it")
    client.flush()
    (record,) = transport.records()
    assert record.key.action_index == 2
    assert [message["action"] for message in record.messages or []] == ["call"]  # type: ignore[index]
    assert len(record.attempts) == 1


def test_a_turn_that_raises_leaves_nothing_behind() -> None:
    client, transport = memory_client()
    at = Seat(client)

    def fail_after_sending() -> None:
        with at.turn(1):
            at.outbox.send({"action": "raise"})
            raise RuntimeError("the agent's own fault")

    with pytest.raises(RuntimeError):
        fail_after_sending()
    at.play(2, parsed=("check", None))
    assert [record.messages for record in transport.records()] == [
        [{"type": "player_action", "agentToken": "[REDACTED]", "action": "check", "amount": None}]
    ]
