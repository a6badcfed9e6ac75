"""What is missing or malformed stops every process, in one sentence that names the variable."""

from typing import Any

import pytest

from capture_site.same_server import same_server
from tests.site_process import PRODUCTION, Finished, manage, run, without

REQUIRED = ["AGENT_CAPTURE_REDIS_URL", "DATABASE_URL", "SECRET_KEY"]


def refused(finished: Finished, name: str) -> None:
    assert finished.returncode != 0
    said = finished.stderr.strip().splitlines()[-1]
    assert name in said
    assert "hunter2" not in finished.stdout + finished.stderr


@pytest.mark.parametrize("name", REQUIRED)
@pytest.mark.parametrize("command", [["check"], ["migrate"], ["collectstatic", "--noinput"]])
def test_a_missing_variable_stops_every_command(name: str, command: list[str]) -> None:
    finished = manage(*command, environment=without(name))
    refused(finished, name)
    assert len(finished.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("application", ["wsgi", "asgi"])
def test_a_missing_variable_stops_the_server_process(application: str) -> None:
    finished = run("-c", f"import capture_site.{application}", environment=without("AGENT_CAPTURE_REDIS_URL"))
    refused(finished, "AGENT_CAPTURE_REDIS_URL")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGENT_CAPTURE_REDIS_URL", "http://:hunter2hunter2@cache:6379/0"),
        ("AGENT_CAPTURE_REDIS_URL", "redis://:hunter2hunter2@:6379/0"),
        ("AGENT_CAPTURE_REDIS_URL", "redis://:hunter2hunter2@cache:99999/0"),
        ("AGENT_CAPTURE_REDIS_URL", "cache:6379"),
        ("AGENT_CAPTURE_REDIS_URL", "hunter2hunter2@cache:6379"),
        ("AGENT_CAPTURE_REDIS_URL", "redis://:hunter2/hunter2@cache:6379/0"),
        ("REDIS_URL", "redis://:hunter2#hunter2@cache:6379/0"),
        ("REDIS_URL", "memcached://cache"),
        ("DATABASE_URL", "sqlite:///hunter2hunter2"),
        ("DATABASE_URL", "hunter2hunter2"),
        ("CAPTURE_TTL_SECONDS", "a day"),
        ("CAPTURE_TTL_SECONDS", "0"),
        ("DEBUG", "perhaps"),
        ("LOG_FORMAT", "xml"),
        ("SECRET_KEY_FILE", "/no/such/file"),
    ],
)
def test_a_malformed_variable_is_named(name: str, value: str) -> None:
    given = without("SECRET_KEY") if name == "SECRET_KEY_FILE" else PRODUCTION
    refused(manage("check", environment=given | {name: value}), name)


@pytest.mark.parametrize("url", ["redis://localhost:1/5", "redis://127.0.0.1:1", "rediss://[::1]:1/0"])
def test_the_caches_server_is_refused_as_the_buffer(url: str) -> None:
    finished = manage("check", environment=PRODUCTION | {"REDIS_URL": url})
    refused(finished, "AGENT_CAPTURE_REDIS_URL")
    assert "REDIS_URL" in finished.stderr


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("redis://a/0", "redis://a:6379/7", True),
        ("redis://A/0", "redis://a/0", True),
        ("redis://a:6379", "redis://a:6380", False),
        ("redis://a", "redis://b", False),
        ("unix:///run/a.sock?db=1", "unix:///run/a.sock?db=2", True),
        ("unix:///run/a.sock", "redis://a", False),
        ("unix:///run/a.sock", "unix:///run/../run/a.sock", True),
    ],
)
def test_servers_are_told_apart_by_address(one: str, other: str, same: bool) -> None:
    assert same_server(one, other) is same


def test_an_unreachable_redis_fails_the_deploy_check_alone() -> None:
    plain = manage("check", environment=PRODUCTION)
    assert plain.returncode == 0
    assert "capture.W003" in plain.stderr
    deploy = manage("check", "--deploy", environment=PRODUCTION)
    assert deploy.returncode != 0
    assert "capture.E002" in deploy.stderr
    assert "hunter2" not in plain.stderr + deploy.stderr


def test_an_unreachable_redis_fails_the_start_command() -> None:
    finished = manage("serve", environment=PRODUCTION)
    assert finished.returncode != 0
    assert "capture.E002" in finished.stderr


def test_a_worker_that_restarts_without_its_buffer_goes_on() -> None:
    loaded = run("-c", "import capture_site.wsgi; print('up')", environment=PRODUCTION)
    assert (loaded.returncode, loaded.stdout.strip()) == (0, "up")


@pytest.mark.parametrize("command", [["help"], ["collectstatic", "--noinput", "--dry-run"]])
def test_commands_that_need_no_store_touch_none(command: list[str]) -> None:
    assert manage(*command, environment=PRODUCTION).returncode == 0


def test_missing_migrations_are_looked_for_without_a_store() -> None:
    finished = manage("makemigrations", "--check", "--dry-run", environment=PRODUCTION)
    assert "capture.W003" not in finished.stderr
    assert "No changes detected" in finished.stdout


def test_help_needs_no_variable() -> None:
    finished = manage("help", environment={})
    assert finished.returncode == 0


def test_a_malformed_key_is_an_error_that_does_not_repeat_it() -> None:
    environment = PRODUCTION | {"AGENT_CAPTURE_SERVICE_KEYS": "a:read-all:fine;hunter2hunter2"}
    finished = manage("check", environment=environment)
    refused_text = finished.stderr
    assert finished.returncode != 0
    assert "capture.E001" in refused_text
    assert "entry 2" in refused_text
    assert "hunter2" not in refused_text


def test_a_secret_may_come_from_a_file(tmp_path: Any) -> None:
    (tmp_path / "key").write_text(PRODUCTION["SECRET_KEY"] + "\n")
    environment = without("SECRET_KEY") | {"SECRET_KEY_FILE": str(tmp_path / "key")}
    assert manage("check", environment=environment).returncode == 0


def test_a_repr_of_the_environment_shows_no_secret() -> None:
    finished = run("-c", "from capture_site.env import load; print(load())", environment=PRODUCTION)
    assert finished.returncode == 0
    assert "hunter2" not in finished.stdout
    assert PRODUCTION["SECRET_KEY"] not in finished.stdout


def test_host_names_may_have_blanks_between_them() -> None:
    environment = PRODUCTION | {"ALLOWED_HOSTS": "a.example, b.example,"}
    finished = run(
        "-c", "from capture_site.env import load; print(load().allowed_hosts)", environment=environment
    )
    assert finished.stdout.strip() == "['a.example', 'b.example']"


def test_a_file_that_holds_no_text_is_one_sentence(tmp_path: Any) -> None:
    (tmp_path / "key").write_bytes(b"\xd0\xff")
    environment = without("SECRET_KEY") | {"SECRET_KEY_FILE": str(tmp_path / "key")}
    refused(manage("check", environment=environment), "SECRET_KEY_FILE")


def test_everything_that_is_wrong_is_said_at_once() -> None:
    finished = manage("check", environment=without("SECRET_KEY") | {"CAPTURE_TTL_SECONDS": "0"})
    said = finished.stderr.strip().splitlines()
    assert [line.split()[1] for line in said] == ["SECRET_KEY", "CAPTURE_TTL_SECONDS"]
    assert finished.returncode != 0
