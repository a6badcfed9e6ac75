"""``compose.yaml`` and ``Dockerfile`` agree with the project: variables, commands, probes and server options."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class
from redis import Redis

from capture import findings
from capture.stores import RedisFacts
from capture_site import embedded
from tests.served import Service, free_port
from tests.site_process import PRODUCTION, ROOT, live, run

TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::([?-])([^}]*))?\}")


def settings_of_a_service() -> set[str]:
    return set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def valkey_options(service: str) -> list[str]:
    """The server's options, defaults filled in; it wants a password, which is left out."""
    program, want, password, *options = SERVICES[service]["command"]
    assert (program, want) == ("valkey-server", "--requirepass")
    assert "PASSWORD:?" in password
    return [VARIABLE.sub(lambda match: match[3], option) for option in options]


def test_the_site_gets_settings_that_exist_and_all_that_it_needs() -> None:
    given = set(SERVICES["web"]["environment"])
    assert given == set(SERVICES["migrate"]["environment"])
    assert given == settings_of_a_service() - {"DEBUG"}
    assert set(PRODUCTION) <= given


def test_every_variable_is_a_setting_or_explained() -> None:
    explained = (ROOT / "docs" / "operations.md").read_text()
    others = {name for name, _, _ in VARIABLE.findall(TEXT)} - settings_of_a_service()
    assert "POSTGRES_PASSWORD" in others
    assert not [name for name in others if f"`{name}`" not in explained]
    assert not [name for name in others if f"#{name}=" not in (ROOT / ".env.example").read_text()]


def test_no_secret_has_a_default_and_each_says_what_it_wants() -> None:
    secrets = [each for each in VARIABLE.findall(TEXT) if re.search("PASSWORD|KEY", each[0])]
    assert len(secrets) >= 8
    assert all(how == "?" and len(hint) > 10 for _, how, hint in secrets)
    assert "DEBUG" not in TEXT


@pytest.mark.parametrize("service", ["migrate", "web"])
def test_a_sites_command_is_one_of_the_projects(service: str) -> None:
    python, script, name, *options = [VARIABLE.sub("4", part) for part in SERVICES[service]["command"]]
    assert (python, script) == ("python", "manage.py")
    command = load_command_class(get_commands()[name], name)
    assert command.create_parser("manage.py", name).parse_args(options)


def test_the_buffer_is_as_the_checks_want_it(tmp_path: Path) -> None:
    options = valkey_options("buffer")
    with (
        embedded.redis_server(embedded.valkey_binary(), tmp_path, *options) as url,
        Redis.from_url(url) as client,
    ):
        facts = RedisFacts.of(client.info())
        assert client.config_get("save") == {"save": ""}
    assert findings.of_redis_kind(facts) + findings.of_redis_settings(facts) == []


def test_what_must_be_kept_is_not_evicted_and_is_on_disk(tmp_path: Path) -> None:
    options = [*valkey_options("cache"), "--dir", str(tmp_path)]
    with (
        embedded.redis_server(embedded.valkey_binary(), tmp_path, *options) as url,
        Redis.from_url(url) as client,
    ):
        assert client.config_get("maxmemory-policy", "appendonly") == {
            "maxmemory-policy": "noeviction",
            "appendonly": "yes",
        }
    assert SERVICES["cache"]["volumes"] == ["cache:/data"]


def test_the_site_waits_for_what_it_needs() -> None:
    web, migrate = SERVICES["web"]["depends_on"], SERVICES["migrate"]["depends_on"]
    assert web["migrate"]["condition"] == "service_completed_successfully"
    assert migrate["postgres"]["condition"] == "service_healthy"
    assert not [name for name in {*web, *migrate} - {"migrate"} if "healthcheck" not in SERVICES[name]]


def test_only_this_machine_reaches_a_port() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.fixture
def port(tmp_path: Path, redis_url: str, transactional_db: None) -> Iterator[int]:
    """The site, served on a port."""
    port = free_port()
    started = Service(tmp_path, live(redis_url), bind=f"127.0.0.1:{port}")
    try:
        started.wait()
        yield port
    finally:
        started.stop()


def test_the_probe_of_the_site_passes_when_it_lives_and_fails_when_not(port: int) -> None:
    code = SERVICES["web"]["healthcheck"]["test"][-1]
    hosts = {"ALLOWED_HOSTS": PRODUCTION["ALLOWED_HOSTS"]}
    assert run("-c", code.replace("8000", str(port)), environment=hosts).returncode == 0
    assert (
        run("-c", code.replace("8000", str(port)), environment={"ALLOWED_HOSTS": "elsewhere"}).returncode != 0
    )


def test_the_image_holds_the_project_and_runs_as_nobody_in_particular() -> None:
    copied = set(re.findall(r"^COPY (\S+) ", DOCKERFILE, re.MULTILINE))
    packages = {each.parent.name for each in ROOT.glob("*/__init__.py")} - {"tests", "bench", "examples"}
    assert packages | {"manage.py", "requirements.txt", "templates", "static"} == copied
    allowed = set(re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert allowed == copied
    assert re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)[-1] not in ("root", "0")


def test_the_images_build_can_collect_static_files() -> None:
    variables = dict(re.findall(r"([A-Z_]+)=(\S+)", DOCKERFILE))
    environment = {
        name: variables[name] for name in ("SECRET_KEY", "DATABASE_URL", "AGENT_CAPTURE_REDIS_URL")
    }
    finished = run("manage.py", "collectstatic", "--noinput", "--dry-run", environment=environment)
    assert finished.returncode == 0, finished.stderr
