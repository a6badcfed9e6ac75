"""Alive and ready: what a load balancer is told, also while stores are down, and how soon."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client as Http

from capture import stores
from capture.limits import STORE_ANSWER_SECONDS, STORE_ASKERS
from capture.stores import Silence, StoreSilent
from tests.site_process import PRODUCTION, ask, live

pytestmark = pytest.mark.django_db
SLACK = 1.0


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """A port where connections are taken, and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def readiness() -> tuple[int, dict[str, str]]:
    answer = Http().get("/readyz")
    return answer.status_code, answer.json()["checks"]


def test_a_process_lives_whatever_its_stores_do() -> None:
    answer = ask(PRODUCTION, "/healthz")
    assert (answer.status, json.loads(answer.body)) == (200, {"status": "alive"})
    assert answer.headers["cache-control"] == "no-store"


def test_ready_is_both_stores_and_every_migration(buffer: Any) -> None:
    answer = Http().get("/readyz")
    checks = {"buffer": "ok", "durable": "ok", "migrations": "ok"}
    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "checks": checks})


@pytest.mark.usefixtures("dead_buffer")
def test_without_its_buffer_it_is_not_ready() -> None:
    assert readiness() == (503, {"buffer": "unreachable", "durable": "ok", "migrations": "ok"})


def test_without_postgres_it_is_not_ready_and_tells_no_address(redis_url: str) -> None:
    answer = ask(PRODUCTION | {"AGENT_CAPTURE_REDIS_URL": redis_url}, "/readyz")
    checks = {"buffer": "ok", "durable": "unreachable", "migrations": "unknown"}
    assert (answer.status, json.loads(answer.body)) == (503, {"status": "not_ready", "checks": checks})


def test_missing_migrations_are_not_ready(redis_url: str) -> None:
    answer = ask(live(redis_url, database="postgres"), "/readyz")
    checks = {"buffer": "ok", "durable": "ok", "migrations": "missing"}
    assert (answer.status, json.loads(answer.body)["checks"]) == (503, checks)


def test_a_buffer_that_never_answers_is_given_up_in_time(settings: Any, deaf_port: int) -> None:
    capture = settings.CACHES["capture"] | {"LOCATION": f"redis://127.0.0.1:{deaf_port}/0"}
    settings.CACHES = settings.CACHES | {"capture": capture}
    start = time.monotonic()
    status, checks = readiness()
    assert (status, checks["durable"]) == (503, "ok")
    assert checks["buffer"] in ("unreachable", "too_slow")
    assert time.monotonic() - start < STORE_ANSWER_SECONDS + SLACK


def test_a_store_that_hangs_holds_no_more_than_its_threads() -> None:
    release = threading.Event()
    waits = [stores.begin(lambda: release.wait(10)) for _ in range(STORE_ASKERS)]
    with pytest.raises(StoreSilent) as raised:
        stores.within(lambda: True)
    assert raised.value.why is Silence.TOO_SLOW
    release.set()
    assert all(wait(5) for wait in waits)


def test_a_question_that_takes_too_long_is_given_up() -> None:
    release = threading.Event()
    with pytest.raises(StoreSilent) as raised:
        stores.within(lambda: release.wait(10), 0.05)
    release.set()
    assert raised.value.why is Silence.TOO_SLOW


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/readyz", 503), ("/metrics", 301)])
def test_a_load_balancer_may_ask_by_plain_http(path: str, status: int) -> None:
    assert ask(PRODUCTION, path).status == status


def test_a_probe_names_a_host_of_ours() -> None:
    assert ask(PRODUCTION, "/healthz", headers={"host": "10.0.0.7:8000"}).status == 400


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_only_read(path: str) -> None:
    assert Http().head(path).status_code in (200, 503)
    assert Http().post(path).status_code == 405
