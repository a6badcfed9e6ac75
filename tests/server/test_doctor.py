"""The doctor: silent on a healthy installation, and on a broken one it names what is wrong and the remedy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings
from redis import Redis

from capture.doctor.clocks import apart
from capture.doctor.durable import _version
from capture.models import AgentHand, AgentServiceKey
from capture_site import embedded
from tests.build import fall_back, play, seat
from tests.site_process import STRONG_KEY

pytestmark = pytest.mark.django_db
BOUNDED = ("--maxmemory", "50mb", "--maxmemory-policy", "volatile-ttl")


@pytest.fixture(scope="module")
def static_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Static files, collected."""
    folder = tmp_path_factory.mktemp("static")
    with override_settings(STATIC_ROOT=folder):
        call_command("collectstatic", interactive=False, verbosity=0)
    return folder


@pytest.fixture(autouse=True)
def collected(settings: Any, static_root: Path) -> None:
    """The settings name them."""
    settings.STATIC_ROOT = static_root


@pytest.fixture(autouse=True)
def server(both_buffers: Any) -> Any:
    """A capture Redis of the test's own, as it should be."""
    return both_buffers


def examined(capsys: Any) -> tuple[int, list[dict[str, str]]]:
    """The command's exit status, and the findings of its JSON."""
    status = 0
    try:
        call_command("doctor", "--json")
    except SystemExit as exc:
        status = int(exc.code or 0)
    return status, json.loads(capsys.readouterr().out)["findings"]


def ids(capsys: Any) -> list[str]:
    status, findings = examined(capsys)
    assert status == (1 if findings else 0)
    assert all(each["seen"] and each["means"] and each["remedy"] for each in findings)
    return [each["id"] for each in findings]


def test_a_healthy_installation_has_no_finding(capsys: Any) -> None:
    play(seat(), 1)
    fall_back(seat(), 2)
    assert ids(capsys) == []


def test_people_are_told_too(capsys: Any) -> None:
    call_command("doctor")
    said = capsys.readouterr().out
    assert said.startswith("healthy\nlooked at: ")


@pytest.mark.usefixtures("dead_buffer")
def test_a_redis_that_is_down_is_found(capsys: Any) -> None:
    assert ids(capsys) == ["capture.E002"]


@pytest.mark.parametrize(
    ("setting", "value", "found"),
    [("maxmemory-policy", "allkeys-lru", "capture.W001"), ("maxmemory", "0", "capture.W002")],
)
def test_an_unsafe_setting_of_the_redis_is_found(
    capsys: Any, server: Any, setting: str, value: str, found: str
) -> None:
    before = server.config_get(setting)[setting]
    server.config_set(setting, value)
    try:
        assert ids(capsys) == [found]
    finally:
        server.config_set(setting, before)


def test_keys_without_ttl_are_found(capsys: Any, server: Redis) -> None:
    play(seat(), 1)
    server.set("turn:t:1:a:1", b"x")
    assert ids(capsys) == ["capture.D006"]


def test_keys_of_somebody_else_are_found(capsys: Any, server: Redis) -> None:
    server.set("celery", b"x", ex=100)
    assert ids(capsys) == ["capture.W004"]


@pytest.fixture
def full(tmp_path: Path, settings: Any) -> Iterator[None]:
    """The capture Redis is so small that it has evicted."""
    options = ("--maxmemory", "3mb", "--maxmemory-policy", "volatile-ttl")
    with (
        embedded.redis_server(embedded.valkey_binary(), tmp_path, *options) as url,
        Redis.from_url(url) as client,
    ):
        for number in range(200):
            client.set(f"turn:{number}", b"x" * 50_000, ex=1_000)
        capture = settings.CACHES["capture"] | {"LOCATION": url}
        settings.CACHES = settings.CACHES | {"capture": capture}
        yield


@pytest.mark.usefixtures("full")
def test_evictions_are_found(capsys: Any) -> None:
    assert ids(capsys) == ["capture.D007"]


def test_hands_out_of_step_with_the_ledger_are_found(capsys: Any) -> None:
    play(seat(), 1)
    play(seat(hand_number=43), 1)
    AgentHand.objects.filter(hand_number=42).update(turns=7)
    AgentHand.objects.filter(hand_number=43).delete()
    _, (finding,) = examined(capsys)
    assert finding["id"] == "capture.D003"
    assert finding["seen"].startswith("2 of the newest")
    call_command("rebuild_hands")
    capsys.readouterr()
    assert ids(capsys) == []


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("", "capture.D004"),
        ("shop:read-all:changeme", "capture.E010"),
        ("shop:read-everything:x", "capture.E001"),
        (f"a:read-all:{STRONG_KEY};b:ingest:{STRONG_KEY}", "capture.E009"),
    ],
)
def test_service_keys_that_are_not_as_they_should_be_are_found(
    capsys: Any, settings: Any, keys: str, found: str
) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = keys
    assert ids(capsys) == [found]


@pytest.mark.django_db(transaction=True)
def test_a_key_made_by_command_is_a_key(capsys: Any, settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = ""
    AgentServiceKey.objects.create(
        name="shop", public_id="0123", digest=b"0", scopes=["ingest"], created_by="me"
    )
    assert ids(capsys) == []


def test_static_files_that_are_not_collected_are_found(capsys: Any, settings: Any, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path / "nothing"
    assert ids(capsys) == ["capture.D005"]


def test_static_files_of_an_older_version_are_found(
    capsys: Any, settings: Any, static_root: Path, tmp_path: Path
) -> None:
    held = json.loads((static_root / "staticfiles.json").read_text())
    held["paths"].pop("viewer/icon.svg")
    (tmp_path / "staticfiles.json").write_text(json.dumps(held))
    settings.STATIC_ROOT = tmp_path
    _, (finding,) = examined(capsys)
    assert "'viewer/icon.svg'" in finding["seen"]


@pytest.mark.parametrize("hosts", [[], ["*"]])
def test_hosts_that_protect_nothing_or_refuse_all_are_found(
    capsys: Any, settings: Any, hosts: list[str]
) -> None:
    settings.ALLOWED_HOSTS = hosts
    assert ids(capsys) == ["capture.D008"]


@pytest.mark.parametrize("ahead", [3.0, -3.0, 90_000.0])
def test_clocks_apart_are_found(ahead: float) -> None:
    (finding,) = apart("Postgres", ahead)
    assert finding.id == "capture.D002"
    assert ("behind" in finding.seen) is (ahead < 0)
    assert apart("Postgres", 0.5) == []


def test_an_old_postgres_is_found() -> None:
    assert [each.id for each in _version(130_011)] == ["capture.D011"]
    assert _version(140_000) == []
