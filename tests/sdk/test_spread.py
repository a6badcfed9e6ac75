"""A cluster and a Sentinel's master are written as one server is."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.cluster import RedisCluster

from capture_sdk import Client, Config, ConfigError
from capture_sdk.codec import decode, dictionary_hash
from capture_sdk.config import from_env, spread_hosts
from capture_sdk.runs.records import RunKey
from capture_sdk.transports.redis import RedisTransport
from capture_site import embedded
from tests.build import Seat
from tests.runs import a_run, event, parcel
from tests.sdk.stores import Store


def free_ports(count: int) -> list[int]:
    """Ports whose cluster bus, 10,000 above, is free too."""
    found: list[int] = []
    port = 20_000 + os.getpid() * 7 % 20_000
    while len(found) < count:
        port += 1
        with ExitStack() as stack:
            try:
                for each in (port, port + 10_000):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", each))
            except OSError:
                continue
        found.append(port)
    return found


def node(folder: Path, port: int, *options: str) -> Store:
    folder.mkdir()
    tcp = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder), *options)
    return Store(embedded.valkey_binary(), folder, *tcp).start()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[int]]:
    ports = free_ports(3)
    stores = [node(tmp_path / str(port), port, "--cluster-enabled", "yes") for port in ports]
    clients: list[Any] = [Redis(port=port, protocol=2, decode_responses=True) for port in ports]
    try:
        for place, each in enumerate(clients):
            each.execute_command(
                "CLUSTER", "ADDSLOTSRANGE", 5_462 * place, min(5_462 * (place + 1) - 1, 16_383)
            )
            each.execute_command("CLUSTER", "MEET", "127.0.0.1", ports[0])
        wait_until(lambda: all(each.cluster("info")["cluster_state"] == "ok" for each in clients))
        yield ports
    finally:
        for each in clients:
            each.close()
        for store in stores:
            store.kill()


def wait_until(ready: Any) -> None:
    for _ in range(300):
        if ready():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come about")


def test_turns_spread_over_a_cluster_and_are_read_back(cluster: list[int]) -> None:
    url = f"redis+cluster://127.0.0.1:{cluster[0]},127.0.0.1:{cluster[1]}"
    client = Client(Config(redis_url=url))
    for agent in ("kim", "sam", "vera", "olga"):
        at = Seat(client, agent)
        for index in range(5):
            at.play(index)
    redis: Any = RedisCluster(host="127.0.0.1", port=cluster[2], protocol=2)
    per_node = [Redis(port=port).dbsize() for port in cluster]
    assert min(per_node) > 0
    for agent in ("kim", "sam", "vera", "olga"):
        for index in range(5):
            data = redis.get(f"turn:table-7:42:{agent}:{index}")
            record = decode(data, dictionary=redis.get(f"dict:{dictionary_hash(data)}"))
            assert record.prompt is not None
            whole = record.with_envelope(redis.get(f"env:{record.prompt.env_hash}"))
            assert whole.prompt is not None
            assert whole.prompt.status() == "verified"
        assert redis.scard(f"hand:table-7:42:{agent}") == 5
    assert redis.smembers("agents:table-7:42") == {b"kim", b"sam", b"vera", b"olga"}
    assert_runs_spread(url, redis)
    assert all(redis.pttl(key) > 0 for port in cluster for key in Redis(port=port).scan_iter())
    client.close()
    redis.close()


def assert_runs_spread(url: str, redis: Any) -> None:
    """Runs are written to the same cluster: one key a script, and artifacts renewed on whichever node has them."""
    transport = RedisTransport.from_config(Config(redis_url=url))
    keys = [RunKey("kim", f"run-{number}") for number in range(6)]
    for key in keys:
        events, artifacts = a_run(key)
        assert transport.write_events([parcel(each, artifacts) for each in events]) == []
        redis.pexpire(f"run:kim:{key.run_id}", 1_000_000)
        assert transport.write_events([parcel(event(7, key=key))]) == []
        assert redis.pttl(f"run:kim:{key.run_id}") > 80_000_000
        assert redis.hget(f"run:kim:{key.run_id}", "\0count:event") == b"1"
    assert redis.zcard("runs:kim") == len(keys)
    assert redis.zrange("run-agents", 0, -1) == [b"kim"]
    transport.close()


def test_a_cluster_that_is_not_there_costs_the_agent_nothing() -> None:
    (port,) = free_ports(1)
    client = Client(
        Config(redis_url=f"redis+cluster://127.0.0.1:{port}", max_attempts=2, backoff_seconds=0.001)
    )
    with Seat(client).turn(1) as turn:
        turn.response("ok")
    assert sum(client.flush(10).lost.values()) == 1


def test_a_sentinels_master_is_found_and_followed(tmp_path: Path) -> None:
    master_port, sentinel_port = free_ports(2)
    master = node(tmp_path / "master", master_port)
    folder = tmp_path / "sentinel"
    folder.mkdir()
    settings = folder / "sentinel.conf"
    settings.write_text(f"port {sentinel_port}\nsentinel monitor buffer 127.0.0.1 {master_port} 1\n")
    sentinel = Store(embedded.valkey_binary(), folder, "--sentinel")
    sentinel._options = (str(settings), "--sentinel")
    try:
        start_sentinel(sentinel, settings)
        wait_until(lambda: answers(sentinel_port))
        client = Client(Config(redis_url=f"redis+sentinel://127.0.0.1:{sentinel_port}/buffer"))
        Seat(client).play(1)
        assert Redis(port=master_port).exists("turn:table-7:42:river-rat:1")
        client.close()
    finally:
        sentinel.kill()
        master.kill()


def start_sentinel(sentinel: Store, settings: Path) -> None:
    """A sentinel has no socket of its own to wait for, so it is started plainly."""
    import subprocess

    sentinel._process = subprocess.Popen(
        [str(embedded.valkey_binary()), str(settings), "--sentinel"], stdout=subprocess.DEVNULL
    )


def answers(port: int) -> bool:
    from redis.exceptions import RedisError

    try:
        return bool(Redis(port=port).ping())
    except RedisError:
        return False


@pytest.mark.parametrize(
    ("url", "hosts", "service"),
    [
        ("redis+cluster://a:1,b:2", (("a", 1), ("b", 2)), None),
        ("rediss+cluster://u:p%40ss@a:1", (("a", 1),), None),
        ("redis+sentinel://[::1]:26379/main/3", (("::1", 26379),), "main"),
    ],
)
def test_a_url_of_several_hosts_is_read(url: str, hosts: Any, service: str | None) -> None:
    spread = spread_hosts(url)
    assert (spread.hosts, spread.service) == (hosts, service)
    assert "p@ss" not in repr(spread)


@pytest.mark.parametrize(
    "url",
    ["redis+cluster://", "redis+cluster://a", "redis+cluster://a:x", "redis+cluster://hunter2:1:2@", "redis+sentinel://a:1",
     "redis+sentinel://a:1/", "redis+sentinel://a:1/x/y", "redis+cluster://a:0", "redis+cluster://a:1,,b:2"],
)  # fmt: skip
def test_a_malformed_one_is_refused_without_a_piece_of_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_env({"AGENT_CAPTURE_REDIS_URL": url})
    assert "hunter2" not in str(caught.value)
