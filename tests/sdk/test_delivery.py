"""Delivery is bounded, counts every loss, and tells the truth about a flush."""

import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from capture_sdk import Client, Config, MemoryTransport, TransportError
from capture_sdk.codec import decode
from capture_sdk.transports import Parcel, Refusal
from tests.build import Seat

FAST: dict[str, Any] = {"backoff_seconds": 0.001, "backoff_limit_seconds": 0.002, "max_attempts": 3}


class Gate:
    """A transport over a real memory buffer that can be shut, refuse, or fail a number of times."""

    takes_dictionaries = True

    def __init__(self, failures: int = 0) -> None:
        self.memory = MemoryTransport()
        self.open = threading.Event()
        self.open.set()
        self.failures = failures
        self.refuse: set[int] = set()

    def write(self, parcels: Sequence[Parcel]) -> list[Refusal]:
        self.open.wait(10)
        if self.failures:
            self.failures -= 1
            raise TransportError("ConnectionError")
        self.memory.write([each for each in parcels if each.key.action_index not in self.refuse])
        return [
            Refusal(place, "OutOfMemory", retryable=False)
            for place, each in enumerate(parcels)
            if each.key.action_index in self.refuse
        ]

    def close(self) -> None: ...

    def forked(self) -> None: ...


def test_a_failed_write_is_tried_again_and_then_written() -> None:
    gate = Gate(failures=2)
    client = Client(Config(**FAST), transport=gate)
    Seat(client).play(1)
    assert len(gate.memory.records()) == 1
    assert client.stats().retried == 2


def test_attempts_are_bounded_and_then_the_turn_is_lost_with_its_reason() -> None:
    client = Client(Config(**FAST), transport=Gate(failures=99))
    with Seat(client).turn(1) as turn:
        turn.response("ok")
    result = client.flush(5)
    assert (result.written, result.pending, result.lost) == (0, 0, {"ConnectionError": 1})
    assert not result


def test_a_full_queue_drops_and_counts_and_never_blocks() -> None:
    gate = Gate()
    gate.open.clear()
    client = Client(Config(queue_items=5, batch_items=1, **FAST), transport=gate)
    for index in range(20):
        with Seat(client).turn(index) as turn:
            turn.response("ok")
    assert client.stats().lost["queue_full"] >= 14
    gate.open.set()
    assert client.flush(5).pending == 0


def test_the_queue_is_bounded_by_bytes_too() -> None:
    gate = Gate()
    gate.open.clear()
    client = Client(Config(queue_bytes=50_000, **FAST), transport=gate)
    for index in range(10):
        with Seat(client).turn(index) as turn:
            turn.response("x" * 20_000)
    assert client.stats().lost["queue_full"] >= 7
    gate.open.set()


def test_one_refused_item_costs_its_batch_nothing() -> None:
    gate = Gate()
    gate.open.clear()
    gate.refuse = {2}
    client = Client(Config(**FAST), transport=gate)
    for index in range(4):
        with Seat(client).turn(index) as turn:
            turn.response("ok")
    gate.open.set()
    client.flush(5)
    assert sorted(each.key.action_index for each in gate.memory.records()) == [0, 1, 3]
    assert client.stats().lost == {"OutOfMemory": 1}


def test_a_flush_that_ends_early_says_what_is_pending() -> None:
    gate = Gate()
    gate.open.clear()
    client = Client(Config(**FAST), transport=gate)
    with Seat(client).turn(1) as turn:
        turn.response("ok")
    started = time.monotonic()
    assert client.flush(0.05).pending == 1
    assert time.monotonic() - started < 1
    gate.open.set()


def test_a_record_carries_its_number_and_the_losses_before_it() -> None:
    gate = Gate()
    gate.refuse = {1}
    client = Client(Config(**FAST), transport=gate)
    at = Seat(client)
    for index in range(3):
        with at.turn(index) as turn:
            turn.response("ok")
        client.flush(5)
    first, last = gate.memory.records()
    assert (first.sequence, first.losses) == (0, {})
    assert (last.sequence, last.losses, last.client_id) == (2, {"OutOfMemory": 1}, first.client_id)


def test_after_close_a_turn_is_counted_as_lost() -> None:
    client = Client(transport=MemoryTransport())
    client.close()
    with Seat(client).turn(1) as turn:
        turn.response("ok")
    assert client.stats().lost == {"closed": 1}


def test_log_lines_are_rare_and_hold_no_content(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "capture_sdk")
    client = Client(Config(**FAST), transport=Gate(failures=99))
    for index in range(5):
        with Seat(client).turn(index) as turn:
            turn.response("the secret plan")
        client.flush(5)
    assert len([record for record in caplog.records if "lost" in record.message]) == 1
    assert "secret plan" not in caplog.text


def test_a_forked_child_delivers_its_own_turns_and_not_its_parents() -> None:
    transport = MemoryTransport()
    client = Client(transport=transport)
    parent = client._delivery.client_id
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # in the child, whose delivery thread did not come along
        with Seat(client, "child").turn(1) as turn:
            turn.response("ok")
        done = client.flush(5)
        new = client._delivery.client_id != parent
        os.write(write, b"1" if done and new and len(transport.records()) == 1 else b"0")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 1) == b"1"
    assert client.stats().accepted == 0


def test_a_turn_that_cannot_be_encoded_is_counted() -> None:
    transport = MemoryTransport()
    client = Client(transport=transport)
    with Seat(client).turn(1) as turn:
        turn.response("ok")
        turn.adjustments = ("not an adjustment",)  # type: ignore[assignment]
    client.flush()
    assert client.stats().lost == {"encode:AttributeError": 1}


def test_knowledge_loses_its_credentials_before_it_leaves() -> None:
    transport = MemoryTransport()
    client = Client(transport=transport)
    Seat(client).play(1, knowledge={"me": {"agentToken": "tok-123456789"}, "tokens": 5})
    (record,) = transport.records()
    assert record.knowledge is not None
    assert b"tok-123456789" not in record.knowledge
    assert record.redactions == {"mask": 2}


def test_a_token_that_passed_the_outbox_is_marked_in_the_knowledge_too() -> None:
    transport = MemoryTransport()
    at = Seat(Client(transport=transport))
    at.outbox.send({"type": "enter", "agentToken": "tok-123456789"})
    at.play(1, knowledge={"last frame": "hello tok-123456789"})
    (record,) = transport.records()
    assert b"tok-123456789" not in (record.knowledge or b"")


def test_damaged_bytes_are_not_a_record() -> None:
    from capture_sdk import RecordError

    transport = MemoryTransport()
    Seat(Client(transport=transport)).play(1)
    data = bytearray(next(iter(transport._turns.values())).record)
    data[len(data) // 2] ^= 0x40
    with pytest.raises(RecordError):
        decode(bytes(data), dictionary=next(iter(transport._turns.values())).dictionary.data)  # type: ignore[union-attr]
