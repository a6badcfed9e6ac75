"""The buffer's keys and the TTL rule, on both kinds of server."""

import hashlib
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from capture_sdk import Client, Config, ConfigError, TurnRecord
from capture_sdk.codec import decode, dictionary_hash
from capture_sdk.config import from_env, masked_url
from capture_sdk.keys import agents_key, dictionary_key, encode_id, hand_key, turn_key
from tests.build import ENVELOPE, HAND, TABLE, Seat, redis_client


def stored(redis: Any, key: str) -> TurnRecord:
    """A record as a reader finds it, with its dictionary."""
    data = redis.get(key)
    needed = dictionary_hash(data)
    return decode(data, dictionary=None if needed is None else redis.get(dictionary_key(needed)))


ENV_HASH = hashlib.sha256(ENVELOPE.encode()).hexdigest()


def test_the_four_keys_are_written_as_agreed(redis: Any) -> None:
    Seat(redis_client(redis)).play(7)
    assert set(redis.keys()) == {
        b"turn:table-7:42:river-rat:7",
        b"hand:table-7:42:river-rat",
        b"agents:table-7:42",
        f"env:{ENV_HASH}".encode(),
        *redis.keys("dict:*"),
    }
    assert len(redis.keys("dict:*")) == 1
    assert redis.get(f"env:{ENV_HASH}") == ENVELOPE.encode()
    assert redis.smembers("hand:table-7:42:river-rat") == {b"7"}
    assert redis.smembers("agents:table-7:42") == {b"river-rat"}


def test_every_key_has_a_ttl_and_none_is_outlived_by_its_turn(redis: Any) -> None:
    Seat(redis_client(redis, ttl_seconds=100)).play(7)
    keys = redis.keys()
    with redis.pipeline(transaction=True) as at_one_moment:
        for key in keys:
            at_one_moment.pttl(key)
        ttls = dict(zip(keys, at_one_moment.execute(), strict=True))
    turn = ttls[b"turn:table-7:42:river-rat:7"]
    assert all(0 < turn <= ttl <= 100_000 for ttl in ttls.values())


def test_an_envelope_is_stored_once_and_renewed_by_each_turn(redis: Any) -> None:
    at = Seat(redis_client(redis, ttl_seconds=100))
    at.play(1)
    shared = [f"env:{ENV_HASH}", hand_key(TABLE, HAND, "river-rat"), agents_key(TABLE, HAND)]
    for key in shared:
        redis.pexpire(key, 5_000)
    at.play(2)
    assert len(redis.keys("env:*")) == 1
    assert all(redis.pttl(key) > 99_000 for key in shared)


def test_a_shorter_ttl_in_one_process_never_shortens_a_shared_key(redis: Any) -> None:
    Seat(redis_client(redis, ttl_seconds=1_000)).play(1)
    Seat(redis_client(redis, ttl_seconds=10)).play(2)
    assert redis.pttl(f"env:{ENV_HASH}") > 900_000
    assert redis.pttl(hand_key(TABLE, HAND, "river-rat")) > 900_000
    assert redis.pttl(turn_key(TABLE, HAND, "river-rat", 2)) <= 10_000


def test_an_envelope_that_has_gone_is_sent_again(redis: Any) -> None:
    at = Seat(redis_client(redis))
    at.play(1)
    redis.delete(f"env:{ENV_HASH}")
    at.play(2)
    assert redis.get(f"env:{ENV_HASH}") == ENVELOPE.encode()


def test_a_changed_strategy_mints_a_new_envelope_and_the_old_one_stays(redis: Any) -> None:
    at = Seat(redis_client(redis))
    at.play(1)
    at.play(2, envelope=ENVELOPE + "Be bolder now.")
    assert len(redis.keys("env:*")) == 2
    for index in (1, 2):
        record = stored(redis, turn_key(TABLE, HAND, "river-rat", index))
        assert record.prompt is not None
        whole = record.with_envelope(redis.get(f"env:{record.prompt.env_hash}"))
        assert whole.prompt is not None
        assert whole.prompt.status() == "verified"


def test_writing_a_turn_twice_is_the_same_as_once(redis: Any) -> None:
    at = Seat(redis_client(redis))
    at.play(1)
    at.play(1)
    assert len(redis.keys("turn:*")) == 1


@pytest.mark.parametrize(
    ("table", "agent"), [("a:1:b", "x"), ("a", "1:b:x"), ("a%3A1", "b"), ("a\x1f", "b"), ("ключ 🂡", "b")]
)
def test_no_id_reaches_into_anothers_keys(redis: Any, table: str, agent: str) -> None:
    Seat(redis_client(redis), agent, table_id=table).play(1)
    (key,) = redis.keys("turn:*")
    assert key.decode() == f"turn:{encode_id(table)}:42:{encode_id(agent)}:1"
    assert key.count(b":") == 4


def test_different_ids_never_share_a_key() -> None:
    spellings = ["a:b", "a%3Ab", "a%253Ab", "a", "a:", ":a", "a\n", "a%0A", "A", "a ", "а"]
    assert len({turn_key(table, 1, "x", 1) for table in spellings}) == len(spellings)


def test_no_credential_reaches_the_buffer(redis: Any) -> None:
    at = Seat(redis_client(redis))
    at.outbox.send({"type": "enter", "agentToken": "tok-c0ffee-c0ffee"})
    at.play(1, knowledge={"agentToken": "tok-c0ffee-c0ffee"})
    record = stored(redis, turn_key(TABLE, HAND, "river-rat", 1))
    assert b"c0ffee" not in (record.knowledge or b"") + (record.decision or b"")
    assert at.sent[-1]["agentToken"] == "tok-c0ffee-c0ffee"


def test_a_store_that_is_down_costs_the_turn_nothing(tmp_path: Any) -> None:
    client = Client(Config(redis_url=f"unix://{tmp_path}/nobody.sock", max_attempts=2, backoff_seconds=0.001))
    started = time.monotonic()
    with Seat(client).turn(1) as turn:
        turn.response("ok")
    assert time.monotonic() - started < 0.5
    assert client.flush(5).lost == {"ConnectionError": 1}


def test_turns_are_delivered_at_exit_without_a_flush(redis: Any, redis_url: str) -> None:
    program = (
        "from capture_sdk import Client\n"
        "with Client.from_env().turn(table_id='t', hand_number=1, agent_id='a', action_index=1) as turn:\n"
        "    turn.response('ok')\n"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        timeout=30,
        env={**os.environ, "AGENT_CAPTURE_REDIS_URL": redis_url},
    )
    assert redis.exists("turn:t:1:a:1")


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "is missing"),
        ("http://cache:6379", "must start with redis://"),
        ("redis://", "names no host"),
        ("redis://host:port", "malformed"),
        ("unix://", "names no socket path"),
    ],
)
def test_a_missing_or_malformed_url_is_refused_at_start(url: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        from_env({"AGENT_CAPTURE_REDIS_URL": url})


@pytest.mark.parametrize(
    "url",
    [
        "hunter2hunter2@cache",
        "redis://:hunter2/hunter2@cache",
        "redis://:hunter2#x@cache:6379/0",
        "hunter2:x",
    ],
)
def test_a_malformed_url_is_refused_without_a_piece_of_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_env({"AGENT_CAPTURE_REDIS_URL": url})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_capture_can_be_switched_off_by_name() -> None:
    assert from_env({"AGENT_CAPTURE": "off"}) is None
    with pytest.raises(ConfigError, match="on or off"):
        from_env({"AGENT_CAPTURE": "maybe"})


def test_a_password_never_shows_in_a_repr() -> None:
    url = "redis://user:hunter2hunter2@cache:6379/0"
    assert masked_url(url) == "redis://***@cache:6379/0"
    assert "hunter2" not in repr(Client(Config(redis_url=url)))
