"""What the SDK could not keep, did not send or changed is shown as exactly that."""

import contextlib
import os
from typing import Any

import pytest

from capture_sdk import CapturePolicy, Client, Config, Rule
from capture_sdk.transports.redis import RedisTransport
from tests.build import Seat, play, seat, take
from tests.viewer.conftest import LogIn
from tests.viewer.test_pages import page, text

pytestmark = pytest.mark.django_db


def seat_with(buffer: Any, **options: Any) -> Seat:
    return Seat(Client(Config(**options), transport=RedisTransport(buffer, ttl_seconds=100)))


def test_a_turn_whose_dictionary_went_is_said_to_be_gone_and_not_empty(buffer: Any, log_in: LogIn) -> None:
    play(seat(), 1)
    buffer.delete(*buffer.keys("dict:*"))
    shown = text(page(log_in))
    assert "TURN GONE" in shown
    assert "was packed with has gone" in shown
    assert "NOT CAPTURED" not in shown


def test_a_part_that_was_too_large_is_not_called_not_captured(buffer: Any, log_in: LogIn) -> None:
    at = seat_with(buffer, max_record_bytes=20_000)
    at.play(1, knowledge={"log": os.urandom(40_000)})
    shown = text(page(log_in))
    assert "TOO LARGE TO KEEP" in shown
    assert "NOT CAPTURED" not in shown


def test_a_message_that_did_not_leave_is_no_decision(buffer: Any, log_in: LogIn) -> None:
    at = seat()

    def fail(message: Any) -> None:
        raise ConnectionError

    with at.turn(1) as turn:
        take(turn, at.outbox)
        at.outbox._send = fail
        with contextlib.suppress(ConnectionError):
            at.outbox.send({"action": "raise", "amount": 77})
    at.client.flush(5)
    shown = text(page(log_in))
    assert "DID NOT LEAVE" in shown
    assert "ConnectionError" in shown
    assert "1 message" in shown


def test_a_rewritten_prompt_is_neither_verified_nor_damaged(buffer: Any, log_in: LogIn) -> None:
    seat_with(buffer, policy=CapturePolicy(rules=[Rule("prompt", "mask")])).play(1)
    shown = text(page(log_in))
    assert "PROMPT REWRITTEN BY POLICY" in shown
    assert "VERIFIED" not in shown
    assert "MISMATCHED" not in shown


@pytest.mark.parametrize("odd", ["fast", float("nan"), float("inf"), -1, 10**400, True, [1]])
def test_whatever_number_an_agent_says_the_page_opens(buffer: Any, log_in: LogIn, odd: Any) -> None:
    seat_with(buffer).play(1, latency_ms=odd, usage={"prompt_tokens": odd})
    assert "✓ VERIFIED" in text(page(log_in))
