"""Whatever the store does, the agent's turn goes on, memory stays bounded, and every loss is counted."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from capture_sdk import Client
from capture_site import embedded
from tests.build import Seat, opened
from tests.sdk.stores import Store
from tests.site_process import ROOT

FAST: dict[str, Any] = {
    "linger_seconds": 0.001,
    "backoff_seconds": 0.01,
    "backoff_limit_seconds": 0.05,
    "connect_timeout": 0.2,
    "write_timeout": 0.2,
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(embedded.valkey_binary(), tmp_path).start()
    yield made
    made.kill()


def client(store: Store, **options: Any) -> Client:
    return opened(**{"redis_url": store.url, **FAST, **options})


def play(at: Seat, indexes: range, text: str = "ok") -> float:
    """Take turns; returns the longest one, in seconds."""
    longest = 0.0
    for index in indexes:
        started = time.perf_counter()
        with at.turn(index) as turn:
            turn.knows(log=["raise"] * 50)
            turn.prompt("envelope " * 50, text)
            turn.response(text)
        longest = max(longest, time.perf_counter() - started)
    return longest


def kept(store: Store) -> int:
    return len(Redis.from_url(store.url, protocol=2).keys("turn:*"))


def readable(store: Store) -> int:
    """The turns that a reader finds: listed in their hand's set, and there."""
    redis: Any = Redis.from_url(store.url, protocol=2)
    indexes = redis.smembers("hand:table-7:42:river-rat")
    return sum(redis.exists(f"turn:table-7:42:river-rat:{index.decode()}") for index in indexes)


def test_a_store_that_is_killed_and_comes_back_takes_the_turns_that_waited(store: Store) -> None:
    at = Seat(client(store, max_attempts=1_000))
    play(at, range(5))
    assert at.client.flush(5)
    store.kill()
    play(at, range(5, 40))
    assert at.client.flush(0.3).pending > 0
    store.start()
    assert at.client.flush(10)
    assert kept(store) == 35  # the five before the crash died with it
    assert at.client.stats().lost == {}


def test_attempts_are_bounded_over_all_layers_and_then_each_turn_is_counted(store: Store) -> None:
    at = Seat(client(store, max_attempts=3))
    store.kill()
    play(at, range(10))
    result = at.client.flush(10)
    assert (result.written, result.pending, sum(result.lost.values())) == (0, 0, 10)
    assert at.client.stats().retried == 20
    store.start()
    play(at, range(10, 12))
    at.client.flush(5)
    assert kept(store) == 2  # it goes on without a restart


def test_a_store_that_hangs_holds_no_turn_and_bounds_every_wait(store: Store) -> None:
    at = Seat(client(store, max_attempts=2))
    play(at, range(1))
    assert at.client.flush(5)
    store.freeze()
    try:
        assert play(at, range(1, 200)) < 0.1
        started = time.monotonic()
        assert at.client.flush(0.2).pending > 0
        assert time.monotonic() - started < 1
        started = time.monotonic()
        closed = at.client.close(0.5)
        assert time.monotonic() - started < 2
        assert closed.pending + sum(closed.lost.values()) == 199
    finally:
        store.thaw()


def test_memory_stays_within_its_bound_while_a_store_hangs(store: Store) -> None:
    at = Seat(client(store, queue_items=1_000_000, queue_bytes=4_000_000, max_attempts=1_000))
    store.freeze()
    try:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for index in range(3_000):
            with at.turn(index) as turn:
                turn.response(f"{index}" + "x" * 20_000)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1_024
    finally:
        store.thaw()
    assert at.client.stats().lost["queue_full"] > 2_500
    assert grown < 40_000_000  # 60 MB of answers went by


def test_a_full_store_refuses_and_the_refusals_are_counted_by_its_reason(tmp_path: Path) -> None:
    options = ("--save", "", "--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    store = Store(embedded.valkey_binary(), tmp_path, *options).start()
    try:
        at = Seat(client(store, max_attempts=2))
        for index in range(60):
            with at.turn(index) as turn:
                turn.response(os.urandom(100_000))
            at.client.flush(5)
        result = at.client.flush(20)
        assert result.lost["OutOfMemoryError"] > 10
        assert result.written + sum(result.lost.values()) == 60
        assert result.written == readable(store) > 3
    finally:
        store.kill()


def test_a_store_that_answers_errors_costs_only_what_it_refuses(store: Store) -> None:
    redis = Redis.from_url(store.url, protocol=2)
    at = Seat(client(store, max_attempts=2))
    redis.set("hand:table-7:42:river-rat", "not a set")  # whatever put it there
    other = Seat(at.client, "kim")
    play(at, range(3))
    play(other, range(3))
    result = at.client.flush(5)
    assert (result.written, dict(result.lost)) == (3, {"WRONGTYPE": 3})
    assert redis.smembers("hand:table-7:42:kim") == {b"0", b"1", b"2"}


def test_a_read_only_replica_is_named(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "replica"
    folder.mkdir()
    replica = Store(embedded.valkey_binary(), folder, "--save", "", "--replicaof", "127.0.0.1 1").start()
    try:
        at = Seat(client(replica, max_attempts=1))
        play(at, range(1))
        (reason,) = at.client.flush(5).lost
        assert reason in ("READONLY", "MASTERDOWN", "ReadOnlyError")
    finally:
        replica.kill()


@pytest.mark.parametrize("state", ["up", "killed", "frozen"])
def test_a_process_ends_within_its_bound_whatever_the_store_does(store: Store, state: str) -> None:
    if state == "killed":
        store.kill()
    elif state == "frozen":
        store.freeze()
    program = (
        "from capture_sdk import Client\n"
        "client = Client.from_env(exit_timeout=1.0)\n"
        "for index in range(300):\n"
        "    with client.turn(table_id='t', hand_number=1, agent_id='a', action_index=index) as turn:\n"
        "        turn.response('x' * 10_000)\n"
    )
    started = time.monotonic()
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        timeout=30,
        cwd=ROOT,
        env={**os.environ, "AGENT_CAPTURE_REDIS_URL": store.url},
    )
    elapsed = time.monotonic() - started
    if state == "frozen":
        store.thaw()
    assert elapsed < 4  # a second of it Python's own start and imports on a busy machine
    if state == "up":
        assert kept(store) == 300


def test_an_oversized_turn_keeps_its_place_and_says_what_was_cut(store: Store) -> None:
    at = Seat(client(store, max_record_bytes=50_000))
    with at.turn(1) as turn:
        turn.knows(log=[os.urandom(60_000)])
        turn.prompt("envelope", "remainder")
        turn.response("fold")
        at.outbox.send({"action": "fold"})
    play(at, range(2, 4))
    assert at.client.flush(5)
    from capture_sdk.codec import decode, dictionary_hash

    redis: Any = Redis.from_url(store.url, protocol=2)
    data = redis.get("turn:table-7:42:river-rat:1")
    needed = dictionary_hash(data)
    record = decode(data, dictionary=redis.get(f"dict:{needed}"))
    assert record.cut == ("knowledge",)
    assert (record.knowledge, record.response, record.sent) == (None, "fold", ("fold", None))
    assert kept(store) == 3
