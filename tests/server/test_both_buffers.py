"""The server's side of the buffer on every supported server: reads, states, pins, and real expiry."""

import time
from typing import Any

import pytest

from capture.absence import Why
from capture.hands import get_hand_all
from capture.merge import HandState, Source
from capture.pins.pin import promote
from capture.recent import recent_hands
from tests.build import HAND, TABLE, play, seat

pytestmark = pytest.mark.django_db


def test_a_hand_is_read_listed_and_pinned(both_buffers: Any) -> None:
    play(seat("a"), 1)
    play(seat("b"), 2)
    view = get_hand_all(TABLE, HAND)
    assert [turn.prompt_status for turn in view.turns] == ["verified", "verified"]
    assert recent_hands(limit=5).hands[0].standing.state is HandState.LIVE
    assert [promote(TABLE, HAND, agent_id=agent, by="test").inserted for agent in ("a", "b")] == [1, 1]
    both_buffers.flushall()
    assert [turn.source for turn in get_hand_all(TABLE, HAND).turns] == [Source.DURABLE, Source.DURABLE]


def test_what_was_pinned_outlives_what_expires(both_buffers: Any, settings: Any) -> None:
    settings.CAPTURE_TTL_SECONDS = 1
    play(seat(), 1)
    promote(TABLE, HAND, agent_id="river-rat", by="test")
    play(seat(), 2)
    play(seat(hand_number=43), 1)
    time.sleep(1.3)
    assert both_buffers.keys() == []
    view = get_hand_all(TABLE, HAND)
    assert [(turn.key.action_index, turn.prompt_status) for turn in view.turns] == [(1, "verified")]
    assert [(each.key.action_index, each.reason) for each in view.missing] == [(2, Why.EXPIRED)]
    newest, older = recent_hands(limit=5).hands
    assert (newest.standing.state, older.standing.state) == (HandState.EXPIRED, HandState.PINNED)
