"""The doctor in a process of its own: production settings, and settings that do not load."""

import json

import pytest

from tests.site_process import PRODUCTION, live, manage, without

pytestmark = pytest.mark.django_db


def production(environment: dict[str, str]) -> tuple[list[str], str]:
    """The ids of a doctor in a process of its own, whose static files may be collected or not."""
    finished = manage("doctor", "--json", environment=environment)
    assert "hunter2" not in finished.stdout + finished.stderr
    assert finished.returncode == 1, finished.stderr
    found = [each["id"] for each in json.loads(finished.stdout)["findings"]]
    return [each for each in found if each != "capture.D005"], finished.stdout


def test_missing_migrations_are_found(redis_url: str) -> None:
    assert production(live(redis_url, database="postgres"))[0] == ["capture.E008"]


def test_a_postgres_that_is_down_is_found(redis_url: str) -> None:
    down = live(redis_url) | {"DATABASE_URL": PRODUCTION["DATABASE_URL"]}
    assert production(down)[0] == ["capture.D010"]


def test_a_proxy_that_would_be_sent_in_a_ring_is_found(redis_url: str) -> None:
    assert production(live(redis_url) | {"TRUST_PROXY_TLS": "0", "DATABASE_URL": PRODUCTION["DATABASE_URL"]})[
        0
    ] == [
        "capture.D009",
        "capture.D010",
    ]


def test_a_weak_secret_key_is_found(redis_url: str) -> None:
    weak = live(redis_url, database="postgres") | {"SECRET_KEY": "short"}
    assert production(weak)[0] == ["security.W009", "capture.E008"]


def test_everything_at_once_is_found() -> None:
    assert production(PRODUCTION)[0] == ["capture.E010", "capture.D009", "capture.E002", "capture.D010"]


def test_variables_that_are_missing_are_found_although_settings_do_not_load() -> None:
    found, said = production(without("SECRET_KEY", "DATABASE_URL"))
    assert found == ["capture.D001", "capture.D001"]
    assert "SECRET_KEY is missing" in said
    assert "DATABASE_URL is missing" in said


def test_people_are_told_which_variable_is_missing() -> None:
    finished = manage("doctor", environment=without("SECRET_KEY"))
    assert finished.returncode == 1
    assert finished.stdout.startswith("capture.D001  SECRET_KEY is missing")
    assert "remedy" in finished.stdout
