"""The stores in figures: counted exactly, nothing blocked meanwhile, one that is down named."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from capture.buffer import Buffer
from capture.models import AgentInferenceCharge
from capture.pin import promote
from capture.search import index_pending
from capture.stats import BufferFigures, durable, hot
from capture_sdk.codec import encode
from tests.build import ENVELOPE, HAND, REMAINDER, TABLE, fall_back, play, seat
from tests.site_process import PRODUCTION, manage

pytestmark = pytest.mark.django_db


def run() -> tuple[dict[str, Any], str]:
    """The figures, and what was said beside them."""
    out, err = StringIO(), StringIO()
    call_command("capture_stats", "--json", stdout=out, stderr=err)
    return json.loads(out.getvalue()), err.getvalue()


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


def test_a_key_without_a_ttl_is_counted_and_warned_of(buffer: Any) -> None:
    seat().play(1)
    assert run()[1] == ""
    buffer.persist(f"turn:{TABLE}:{HAND}:river-rat:1")
    buffer.set("somebody:else", 1)
    figures, said = run()
    assert figures["buffer"]["withoutTtl"] == 2
    assert "2 keys of the capture Redis have no TTL" in said


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
    assert verbs - {"HELLO", "CLIENT", "SELECT"} <= {
        "SCAN",
        "INFO",
        "PTTL",
        "MEMORY",
        "STRLEN",
        "EXISTS",
        "GET",
    }
    assert max(batches) == 3


def _verbs(monitor: Any) -> set[str]:
    verbs: set[str] = set()
    for command in monitor.listen():
        if "the end" in command["command"]:
            return verbs
        verbs.add(command["command"].split()[0].upper())
    return verbs


def test_the_durable_side_is_counted_and_weighed(buffer: Any) -> None:
    play(seat("a"), 1)
    fall_back(seat("a"), 2)
    promote(TABLE, HAND, agent_id="a", by="test")
    index_pending(1)
    figures = run()[0]["durable"]
    assert figures["rows"] == {"turns": 1, "envelopes": 1, "charges": 2, "hands": 1, "searchTexts": 4}
    disk = figures["diskBytes"]
    assert figures["bytesPerTurn"] == disk["turns"] + disk["envelopes"] > 0
    assert figures["estimated"] == []


def test_a_large_table_is_estimated_and_says_so(buffer: Any, monkeypatch: Any) -> None:
    fall_back(seat(), 1)
    fall_back(seat(), 2)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agent_inference_charges")
    AgentInferenceCharge.objects.all().delete()
    monkeypatch.setattr(durable, "STATS_EXACT_ROWS", 1)
    figures = durable.durable_figures()
    assert (figures.estimated, figures.rows["charges"]) == (["charges"], 2)


def test_empty_stores_have_figures_too(buffer: Any) -> None:
    figures, _ = run()
    assert (figures["buffer"]["rawBytes"], figures["durable"]["bytesPerTurn"]) == (None, None)
    assert figures["buffer"]["server"]["maxmemory_policy"] == buffer.info()["maxmemory_policy"]


def test_a_buffer_that_is_down_is_named_and_the_other_is_told(dead_buffer: None) -> None:
    out = StringIO()
    with pytest.raises(CommandError, match="no answer from: buffer"):
        call_command("capture_stats", "--json", stdout=out)
    figures = json.loads(out.getvalue())
    assert (figures["buffer"], figures["down"]) == (None, ["buffer"])
    assert figures["durable"]["rows"]["turns"] == 0


def test_a_durable_store_that_is_down_is_named_and_the_other_is_told(redis_url: str) -> None:
    site = PRODUCTION | {"AGENT_CAPTURE_REDIS_URL": redis_url}
    finished = manage("capture_stats", "--json", environment=site)
    assert finished.returncode == 1
    figures = json.loads(finished.stdout)
    assert (figures["durable"], figures["down"]) == (None, ["durable"])
    assert figures["buffer"]["keys"]["turns"] >= 0
    assert "no answer from: durable" in finished.stderr


def test_people_get_lines(buffer: Any) -> None:
    out = StringIO()
    call_command("capture_stats", stdout=out)
    lines = dict(line.split(maxsplit=1) for line in out.getvalue().splitlines())
    assert (lines["buffer.keys.turns"], lines["durable.rows.hands"]) == ("0", "0")
