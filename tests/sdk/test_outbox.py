"""The one door out: what is sent is untouched, and the copy carries no credential."""

import asyncio
import json
import threading
from typing import Any

import pytest

from capture_sdk import AsyncOutbox, Outbox
from capture_sdk.freeze import unpack
from tests.build import Seat, memory_client, take

TOKEN = "tok-c0ffee-c0ffee"
MARKED = "[REDACTED:secret-name:17]"


class Table:
    """A turn with one outbox, and what is recorded of it."""

    def __init__(self, send: Any = lambda *message, **options: None, **options: Any) -> None:
        self.client, self._transport = memory_client()
        self.outbox: Outbox[Any, Any] = Outbox(send, **options)

    def turn(self, action_index: int = 1) -> Any:
        return self.client.turn(
            table_id="t", hand_number=1, agent_id="a", action_index=action_index, outbox=self.outbox
        )

    def record(self) -> Any:
        assert self.client.flush(5)
        return self._transport.records()[-1]

    def decision_of(self, *messages: Any) -> Any:
        with self.turn():
            for message in messages:
                self.outbox.send(message)
        return self.record().messages


def test_what_is_sent_is_the_very_object() -> None:
    sent: list[Any] = []
    message = {"action": "call", "agentToken": TOKEN}
    Table(sent.append).decision_of(message)
    assert sent[0] is message
    assert message == {"action": "call", "agentToken": TOKEN}


def test_messages_of_a_turn_are_its_decision() -> None:
    assert Table().decision_of({"say": "hello"}, {"action": "fold"}) == [{"say": "hello"}, {"action": "fold"}]


def test_messages_outside_a_turn_pass_and_are_not_recorded() -> None:
    sent: list[Any] = []
    table = Table(sent.append)
    table.outbox.send({"type": "sit"})
    assert table.decision_of() == []
    table.outbox.send({"type": "stand"})
    assert sent == [{"type": "sit"}, {"type": "stand"}]


def test_further_arguments_reach_the_real_send() -> None:
    calls: list[Any] = []
    table = Table(lambda *given, **named: calls.append((given, named)))
    table.outbox.send({"action": "fold"}, "text", compress=True)
    assert calls == [(({"action": "fold"}, "text"), {"compress": True})]


def test_a_message_that_never_left_is_not_a_decision_and_is_recorded_as_such() -> None:
    def refuse(message: Any) -> None:
        raise ConnectionError("gone")

    table = Table(refuse)
    with table.turn(), pytest.raises(ConnectionError):
        table.outbox.send({"action": "raise", "agentToken": TOKEN})
    record = table.record()
    assert (record.messages, record.sent) == ([], None)
    assert unpack(record.unsent) == [
        {"message": {"action": "raise", "agentToken": MARKED}, "error": "ConnectionError"}
    ]


def test_a_cancelled_send_is_recorded_as_not_sent() -> None:
    async def hang(message: Any) -> None:
        await asyncio.sleep(60)

    async def run(table: Table) -> None:
        outbox: AsyncOutbox[Any, None] = AsyncOutbox(hang)
        table.outbox = outbox  # type: ignore[assignment]
        with table.turn():
            await asyncio.wait_for(outbox.send({"action": "raise"}), 0.01)

    table = Table()
    with pytest.raises(TimeoutError):
        asyncio.run(run(table))
    table.client.flush(5)
    assert table.client.stats().lost == {}


def test_a_sender_that_changes_the_message_does_not_change_the_copy() -> None:
    assert Table(lambda message: message.clear()).decision_of({"action": "raise"}) == [{"action": "raise"}]


@pytest.mark.parametrize(
    "name", ["agentToken", "agent_token", "agent-token", "AGENT_TOKEN", "apiKey", "password", "раsswоrd"]
)
def test_a_credential_is_marked_by_its_name(name: str) -> None:
    assert Table().decision_of({"seat": {"auth": [{name: TOKEN}]}}) == [{"seat": {"auth": [{name: MARKED}]}}]


@pytest.mark.parametrize("name", ["max_tokens", "tokens", "token_count", "actionIndex", "amount", "keyboard"])
def test_an_innocent_name_keeps_its_value(name: str) -> None:
    assert Table().decision_of({name: 4096}) == [{name: 4096}]


def test_a_token_learnt_outside_a_turn_is_marked_where_it_is_echoed() -> None:
    table = Table()
    table.outbox.send({"type": "enter", "agentToken": TOKEN})
    assert table.decision_of({"note": f"signed {TOKEN}!"}) == [{"note": "signed [REDACTED:known-secret:17]!"}]


def test_a_named_secret_is_marked_wherever_it_stands() -> None:
    table = Table(secrets=["river-card-9"])
    assert table.decision_of(["x river-card-9 y"]) == [["x [REDACTED:known-secret:12] y"]]


@pytest.mark.parametrize("shape", [str, str.encode], ids=["text", "bytes"])
def test_a_message_that_is_json_text_loses_its_credential_and_nothing_else(shape: Any) -> None:
    text = json.dumps({"action": "raise", "amount": 1.50, "agentToken": TOKEN, "ünicode": "♠"})
    table = Table()
    assert table.decision_of(shape(text)) == [shape(text.replace(TOKEN, MARKED))]
    assert table.record().sent == ("raise", 1.5)


def test_a_credential_that_leaves_in_pieces_is_marked_whole() -> None:
    whole = "sk-ant-api03-" + "Zx9" * 12
    sent = Table().decision_of("key: " + whole[:20], whole[20:30], whole[30:] + " end")
    assert "".join(sent) == "key: [REDACTED:api-key:49] end"


def test_an_async_outbox_waits_for_the_send() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> str:
        await asyncio.sleep(0)
        sent.append(message)
        return "done"

    async def run(table: Table) -> str:
        outbox: AsyncOutbox[Any, str] = AsyncOutbox(send)
        table.outbox = outbox  # type: ignore[assignment]
        async with table.turn():
            return await outbox.send({"action": "check"})

    table = Table()
    assert asyncio.run(run(table)) == "done"
    assert sent == [{"action": "check"}]
    assert table.record().messages == [{"action": "check"}]


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
        [{"type": "player_action", "agentToken": MARKED, "action": "check", "amount": None}]
    ]


def test_delivery_and_whoever_asks_for_a_charge_may_learn_at_the_same_time() -> None:
    table = Table()
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(200):
                assert table.outbox.secrets is not None
        except BaseException as exc:  # noqa: BLE001 - whatever it is, the test has to see it
            failures.append(exc)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for number in range(600):
        table.outbox.send({"agentToken": f"token-number-{number:04}"})
    for each in threads:
        each.join()
    assert failures == []
    table.outbox.send({"agentToken": "the-last-token"})
    assert "the-last-token" in table.outbox.secrets
