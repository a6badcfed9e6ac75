"""What ``check`` says of a Redis, a Postgres and keys that are not what they should be, by id."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from capture import findings
from capture.stores import RedisFacts, Silence, StoreSilent
from capture_site import embedded
from tests.site_process import STRONG_KEY, live, manage

pytestmark = pytest.mark.django_db  # the processes look into the tests' database

BOUNDED = ("--maxmemory", "50mb", "--maxmemory-policy", "volatile-ttl")


def ids(*arguments: str, environment: dict[str, str]) -> tuple[list[str], str]:
    """The ids that ``check`` prints, and everything that it prints."""
    finished = manage("check", *arguments, environment=environment)
    text = finished.stdout + finished.stderr
    assert "hunter2" not in text
    return sorted(re.findall(r"capture\.[EW]\d{3}", text)), text


@contextmanager
def server(folder: Path, *options: str) -> Iterator[str]:
    """A throw-away server with options of its own."""
    with embedded.redis_server(embedded.valkey_binary(), folder, *options) as url:
        yield url


@pytest.fixture
def environment(redis_url: str, redis: Redis) -> dict[str, str]:
    """A service as it should be."""
    return live(redis_url)


def test_the_deploy_check_is_clean_with_production_settings(environment: Any) -> None:
    finished = manage("check", "--deploy", "--fail-level", "WARNING", environment=environment)
    assert finished.returncode == 0, finished.stderr
    assert "no issues" in finished.stdout + finished.stderr


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--maxmemory", "50mb"), ["capture.W001"]),
        (("--maxmemory-policy", "volatile-ttl"), ["capture.W002"]),
        ((*BOUNDED, "--replicaof", "127.0.0.1 1"), ["capture.E006"]),
        ((*BOUNDED, "--cluster-enabled", "yes"), ["capture.E007"]),
    ],
)
def test_a_redis_that_is_not_what_it_should_be_is_named(
    tmp_path: Path, options: tuple[str, ...], found: list[str]
) -> None:
    with server(tmp_path, *options) as url:
        assert ids(environment=live(url))[0] == found


def test_a_redis_that_wants_a_password_stops_a_service(tmp_path: Path) -> None:
    with server(tmp_path, *BOUNDED) as url, Redis.from_url(url) as client:
        client.config_set("requirepass", "hunter2")
        assert ids(environment=live(url))[0] == ["capture.W003"]
        found, text = ids("--deploy", environment=live(url))
    assert found == ["capture.E003", "capture.W003"]
    assert "user or password" in text


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"redis_version": "6.0.16"}, ["capture.E005"]),
        ({"redis_version": "6.2.0"}, []),
        ({"redis_version": "7.2.4", "loading": 1}, ["capture.E004"]),
        (
            {"redis_version": "10.0.0", "redis_mode": "cluster", "role": "slave"},
            ["capture.E006", "capture.E007"],
        ),
    ],
)
def test_a_redis_is_judged_by_what_it_says_of_itself(said: Any, found: list[str]) -> None:
    assert [each.id for each in findings.of_redis_kind(RedisFacts.of(said))] == found


@pytest.mark.parametrize(
    ("why", "id_"),
    [
        (Silence.UNREACHABLE, "capture.E002"),
        (Silence.TOO_SLOW, "capture.E002"),
        (Silence.REFUSED, "capture.E003"),
        (Silence.LOADING, "capture.E004"),
    ],
)
def test_each_way_of_being_silent_has_its_own_sentence(why: Silence, id_: str) -> None:
    assert findings.of_silent_redis(StoreSilent(why, "SomeError")).id == id_


def test_a_redis_that_somebody_else_uses_is_named_without_their_keys(environment: Any, redis: Redis) -> None:
    redis.set("turn:t:1:a:1", b"", ex=100)
    redis.set(":1:django.contrib.sessions.hunter2", b"", ex=100)
    found, text = ids(environment=environment)
    assert found == ["capture.W004"]
    assert "1 of 2 keys" in text


def test_captures_alone_are_nobody_else(environment: Any, redis: Redis) -> None:
    for key in ("turn:t:1:a:1", "hand:t:1:a", "agents:t:1", "env:00", "dict:00"):
        redis.set(key, b"", ex=100)
    assert ids(environment=environment)[0] == []


def test_missing_migrations_stop_a_service(redis_url: str, redis: Redis) -> None:
    found, text = ids("--deploy", environment=live(redis_url, database="postgres"))
    assert found == ["capture.E008"]
    assert "manage.py migrate" in text


def test_a_postgres_that_is_down_lets_a_service_start(redis_url: str, redis: Redis) -> None:
    dead = live(redis_url) | {"DATABASE_URL": "postgres://capture:hunter2@127.0.0.1:1/capture"}
    assert ids("--deploy", environment=dead)[0] == ["capture.W006"]
    assert manage("check", "--deploy", environment=dead).returncode == 0


@pytest.mark.parametrize("key", ["hunter2-x7Qm", "hunter2" * 5, "changeme-hunter2-Vq7zLm3TxRw9bNc"])
def test_a_key_that_can_be_guessed_is_a_warning_and_stops_a_service(environment: Any, key: str) -> None:
    weak = environment | {"AGENT_CAPTURE_SERVICE_KEYS": f"shop:read-all:{key}"}
    assert ids(environment=weak)[0] == ["capture.W005"]
    found, text = ids("--deploy", environment=weak)
    assert found == ["capture.E010"]
    assert "'shop'" in text


def test_two_entries_with_one_key_are_an_error(environment: Any) -> None:
    same = f"a:read-all:{STRONG_KEY};b:ingest:{STRONG_KEY};c:ingest:other-Vq7zLm3TxRw9bNc5Jd8sKp"
    found, text = ids(environment=environment | {"AGENT_CAPTURE_SERVICE_KEYS": same})
    assert found == ["capture.E009"]
    assert "'a', 'b'" in text


def test_the_caches_redis_has_the_same_bounds_as_the_captures(settings: Any) -> None:
    assert settings.CACHES["default"]["OPTIONS"] == settings.CACHES["capture"]["OPTIONS"]
    assert settings.CACHES["default"]["OPTIONS"]["SOCKET_TIMEOUT"] == 2
