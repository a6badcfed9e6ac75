"""The stores in figures: counted exactly, nothing blocked meanwhile, one that is down named."""

from dataclasses import replace
from typing import Any

import pytest

from capture.buffer import Buffer
from capture.stats import BufferFigures, hot
from capture_sdk.codec import encode
from tests.build import ENVELOPE, HAND, REMAINDER, TABLE, seat

pytestmark = pytest.mark.django_db

CONNECTING = {"HELLO", "CLIENT", "SELECT"}
READING = {"SCAN", "INFO", "PTTL", "MEMORY", "STRLEN", "EXISTS", "GET"}


def buffered() -> BufferFigures:
    return hot.buffer_figures(on_keys=lambda keys: None)


def lost(redis: Any, index: int, client: str, **losses: int) -> None:
    """Play a turn whose record tells these losses."""
    seat("a").play(index)
    played = next(
        turn.record for turn in Buffer(redis).turns(TABLE, HAND, agent_id="a") if turn.action_index == index
    )
    assert played is not None
    told = replace(played, client_id=client, losses=losses)
    redis.set(f"turn:{TABLE}:{HAND}:a:{index}", encode(told), ex=100)


def test_every_kind_is_counted(both_buffers: Any) -> None:
    for agent in ("a", "b"):
        at = seat(agent)
        for index in range(12):
            at.play(index)
    seat("a", hand_number=HAND + 1).play(1, envelope="another")
    keys = buffered().keys
    assert (keys["turns"], keys["seats"], keys["hands"], keys["envelopes"]) == (25, 3, 2, 2)
    assert keys["dictionaries"] == len(both_buffers.keys("dict:*"))
    assert keys["other"] == 0


def test_sizes_are_those_that_redis_tells(both_buffers: Any) -> None:
    for index in range(12):
        seat().play(index)
    figures = buffered()
    turns = both_buffers.keys("turn:*")
    assert figures.content_bytes["turns"] == sum(both_buffers.strlen(key) for key in turns)
    assert figures.memory_bytes["turns"] == sum(both_buffers.memory_usage(key) for key in turns)
    assert figures.content_bytes["envelopes"] == len(ENVELOPE)


def test_raw_bytes_are_what_the_turns_would_take_whole(buffer: Any) -> None:
    at = seat()
    for index in range(40):
        at.play(index)
    figures = buffered()
    assert figures.sample.read == 40
    assert figures.raw_bytes is not None
    assert figures.raw_bytes > 40 * len(ENVELOPE + REMAINDER)
    assert figures.stored_bytes < figures.raw_bytes / 2


def test_where_only_some_turns_are_read_they_stand_for_the_others(buffer: Any, monkeypatch: Any) -> None:
    for index in range(20):
        seat().play(index)
    whole = buffered().raw_bytes
    monkeypatch.setattr(hot, "STATS_READ_TURNS", 5)
    figures = buffered()
    assert (figures.sample.read, figures.keys["turns"]) == (5, 20)
    assert whole is not None
    assert figures.raw_bytes == pytest.approx(whole, rel=0.05)


def test_losses_are_those_of_each_clients_latest_record(buffer: Any) -> None:
    lost(buffer, 1, "one", queue_full=2)
    lost(buffer, 2, "one", queue_full=5, timeout=1)
    lost(buffer, 3, "one", queue_full=3)
    lost(buffer, 4, "two", timeout=7)
    sample = buffered().sample
    assert (sample.clients, sample.losses) == (2, {"queue_full": 5, "timeout": 8})


def test_the_time_left_is_counted_in_classes(buffer: Any) -> None:
    for index, seconds in enumerate((60, 3 * 3_600, 23 * 3_600, 30 * 3_600)):
        seat().play(index)
        buffer.expire(f"turn:{TABLE}:{HAND}:river-rat:{index}", seconds)
    assert buffered().ttl == {"up to 1 h": 1, "up to 6 h": 1, "up to 24 h": 1, "over 24 h": 1}


def test_a_turn_that_cannot_be_read_is_counted_apart(buffer: Any) -> None:
    seat().play(1)
    buffer.set(f"turn:{TABLE}:{HAND}:a:9", b"\x01no record", ex=100)
    figures = buffered()
    assert (figures.keys["turns"], figures.sample.read, figures.sample.unreadable) == (2, 1, 1)


def test_keys_that_are_of_another_type_or_not_text_do_no_harm(buffer: Any) -> None:
    buffer.set(b"\xff\xfe", 1, ex=100)
    buffer.rpush("turn:t:1:a:1", 1)
    buffer.expire("turn:t:1:a:1", 100)
    figures = buffered()
    assert (figures.keys, figures.sample.read) == ({"other": 2}, 0)


def test_the_buffer_is_walked_and_never_blocked(buffer: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(hot, "STATS_PIPELINE_KEYS", 3)
    for index in range(10):
        seat().play(index)
    batches: list[int] = []
    with buffer.monitor() as monitor:
        hot.buffer_figures(on_keys=batches.append)
        buffer.echo("the end")
        verbs = _verbs(monitor)
    assert "SCAN" in verbs
    assert verbs - CONNECTING <= READING
    assert max(batches) == 3


def _verbs(monitor: Any) -> set[str]:
    verbs: set[str] = set()
    for command in monitor.listen():
        if "the end" in command["command"]:
            return verbs
        verbs.add(command["command"].split()[0].upper())
    return verbs
