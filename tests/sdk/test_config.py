"""Configuration is loud: what is unknown, malformed or missing is an error at start, and no secret shows."""

from typing import Any

import pytest

from capture_sdk import Client, Config, ConfigError, MemoryTransport
from capture_sdk.config import from_env


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"redis_urll": "redis://x"}, "did you mean redis_url"),
        ({"colour": 1}, "colour is no option: known are"),
        ({"queue_items": 0}, "queue_items must be at least 1"),
        ({"queue_items": "many"}, "queue_items must be a number, not str"),
        ({"exit_timeout": -1}, "exit_timeout must be at least 0"),
        ({"exit_timeout": float("nan")}, "exit_timeout"),
        ({"exit_timeout": float("inf")}, "exit_timeout"),
        ({"linger_seconds": True}, "linger_seconds must be a number, not bool"),
        ({"base_url": "ftp://x", "service_key": "k"}, "base_url must name a server"),
        ({"base_url": "https://u:hunter2@x", "service_key": "k"}, "the key goes into"),
        ({"base_url": "https://x?a=1", "service_key": "k"}, "a scheme, a host and a path"),
        ({"base_url": "https://x"}, "base_url needs service_key"),
        ({"redis_url": "mysql://x"}, "redis_url must start with"),
        ({}, "redis_url or base_url"),
    ],
)
def test_a_wrong_option_is_an_error_at_start(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        Client(**options)
    assert "hunter2" not in str(caught.value)


def test_options_and_a_config_are_not_mixed() -> None:
    with pytest.raises(ConfigError, match="not both: ttl_seconds"):
        Client(Config(), transport=MemoryTransport(), ttl_seconds=5)


@pytest.mark.parametrize(
    ("environ", "complaint"),
    [
        ({"AGENT_CAPTURE_REDIS_URI": "redis://x"}, "did you mean AGENT_CAPTURE_REDIS_URL"),
        ({"AGENT_CAPTURE_URL": "https://x"}, "AGENT_CAPTURE_SERVICE_KEY"),
        ({"AGENT_CAPTURE_URL": "x"}, "AGENT_CAPTURE_URL must name a server"),
        ({"AGENT_CAPTURE_REDIS_URL": "redis://x", "CAPTURE_TTL_SECONDS": "a day"}, "a day"),
        ({"AGENT_CAPTURE_REDIS_URL": "redis://x", "AGENT_CAPTURE_DIGEST_KEY": "short"}, "16 or more"),
        ({"AGENT_CAPTURE_REDIS_URL": "redis://x", "AGENT_CAPTURE_ENCRYPTION_KEY": "hunter2"}, "Fernet"),
    ],
)
def test_a_wrong_variable_is_named(environ: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        from_env(environ)
    assert "hunter2" not in str(caught.value)


def test_the_servers_own_variables_in_the_same_environment_are_no_mistake() -> None:
    config = from_env({"AGENT_CAPTURE_REDIS_URL": "redis://x", "AGENT_CAPTURE_SERVICE_KEYS": "a:ingest:b"})
    assert config is not None
    assert config.redis_url == "redis://x"


def test_options_win_over_the_environment() -> None:
    config = from_env({"AGENT_CAPTURE_REDIS_URL": "redis://x", "CAPTURE_TTL_SECONDS": "5"}, ttl_seconds=9)
    assert config is not None
    assert config.ttl_seconds == 9


def test_off_by_name_needs_nothing_else() -> None:
    assert from_env({"AGENT_CAPTURE": "OFF"}) is None


def test_a_repr_masks_every_secret() -> None:
    config = Config(base_url="https://capture.example.org/sub/", service_key="hunter2hunter2")
    assert (
        repr(config)
        == "Config(base_url='https://capture.example.org/sub', service_key=***, ttl_seconds=86400)"
    )
