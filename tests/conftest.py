"""Real servers for every test: Postgres and the buffer of the embedded stack, and throw-away Redises."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.test import TransactionTestCase
from django_redis import get_redis_connection
from redis import Redis

from capture_site import embedded
from tests.build import close_opened
from tests.cleaning import clean

SERVERS = {"valkey-9": embedded.valkey_binary(), "redis-6.2": embedded.redis62_binary()}


@pytest.fixture(scope="session", params=list(SERVERS))
def redis_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A throw-away server of its own, once for each kind of server the buffer supports."""
    binary = SERVERS[request.param]
    if binary is None:
        pytest.skip(f"no {request.param} binary on this platform")
    with embedded.redis_server(binary, Path(tmp_path_factory.mktemp("redis"))) as url:
        yield url


@pytest.fixture(scope="session", autouse=True)
def _cheap_ends() -> Iterator[None]:
    """What every test would pay for: emptying tables that are empty, and looking through all the static files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", clean)
        # Else each test client has the middleware read all collected files; so they are found when asked for.
        patch.setattr(site_settings, "WHITENOISE_AUTOREFRESH", True, raising=False)
        yield


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Clients made by ``tests.build.opened`` end with their test."""
    yield
    close_opened()


@pytest.fixture(scope="session")
def django_db_modify_db_settings_xdist_suffix() -> None:
    """Every process of the tests has a Postgres of its own: its database keeps the name that others look for."""


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """An empty throw-away buffer, as the SDK's transports see one."""
    client = Redis.from_url(redis_url, protocol=2)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def buffer() -> Iterator[Any]:
    """The capture Redis that the server's settings name, empty."""
    client = get_redis_connection("capture")
    client.flushall()
    yield client
    client.flushall()


@pytest.fixture
def both_buffers(redis_url: str, settings: Any) -> Iterator[Any]:
    """As ``buffer``, once for each kind of server: the settings point at a throw-away one."""
    capture = settings.CACHES["capture"] | {"LOCATION": redis_url}
    settings.CACHES = settings.CACHES | {"capture": capture}
    client = get_redis_connection("capture")
    client.flushall()
    yield client
    client.flushall()


@pytest.fixture
def dead_buffer(settings: Any, tmp_path: Path) -> None:
    """The settings name a capture Redis that nobody serves."""
    capture = settings.CACHES["capture"] | {"LOCATION": f"unix://{tmp_path}/nobody.sock"}
    settings.CACHES = settings.CACHES | {"capture": capture}
