"""The SDK's settings, and its only reader of the environment.

AGENT_CAPTURE_REDIS_URL   where the buffer is; required unless AGENT_CAPTURE=off
AGENT_CAPTURE             "on" (default) or "off"
CAPTURE_TTL_SECONDS       how long a captured turn stays in the buffer (86400)
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from capture_sdk.errors import ConfigError

REDIS_SCHEMES: Final = ("redis", "rediss", "unix")
DEFAULT_TTL_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything a client can be told. Times are seconds, sizes bytes.

    The queue is bounded by items and by bytes: beyond either, a turn is dropped and counted.
    ``exit_timeout`` bounds the flush at interpreter exit, whatever the store does.
    """

    redis_url: str | None = None
    ttl_seconds: int = DEFAULT_TTL_SECONDS
    queue_items: int = 2_000
    queue_bytes: int = 64 * 1024 * 1024
    batch_items: int = 64
    max_attempts: int = 5
    backoff_seconds: float = 0.2
    backoff_limit_seconds: float = 5.0
    connect_timeout: float = 1.0
    write_timeout: float = 2.0
    exit_timeout: float = 2.0

    def __post_init__(self) -> None:
        if self.redis_url is not None:
            checked_redis_url(self.redis_url)
        positive = ("ttl_seconds", "queue_items", "queue_bytes", "batch_items", "max_attempts")
        for name in positive:
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")

    def __repr__(self) -> str:
        return f"Config(redis_url={masked_url(self.redis_url)!r}, ttl_seconds={self.ttl_seconds})"


def from_env(environ: Mapping[str, str] | None = None) -> Config | None:
    """Read the environment; None means that capture is switched off.

    Raises ConfigError naming the variable that is missing or malformed.
    """
    environ = os.environ if environ is None else environ
    switch = environ.get("AGENT_CAPTURE", "on").strip().lower()
    if switch not in ("on", "off"):
        raise ConfigError(f"AGENT_CAPTURE must be on or off, not {switch!r}")
    if switch == "off":
        return None
    url = environ.get("AGENT_CAPTURE_REDIS_URL", "").strip()
    if not url:
        raise ConfigError(
            "AGENT_CAPTURE_REDIS_URL is missing: set it to the capture Redis (redis://host:6379/0), "
            "or set AGENT_CAPTURE=off"
        )
    return Config(redis_url=url, ttl_seconds=_ttl(environ.get("CAPTURE_TTL_SECONDS", "")))


def checked_redis_url(url: str, *, name: str = "AGENT_CAPTURE_REDIS_URL") -> str:
    """Return ``url`` if it names a Redis server. Raises ConfigError, which quotes nothing of the URL.

    A part of a URL that cannot be read may be anything, a piece of its password too.
    """
    try:
        parts = urlsplit(url)
        port_is_readable = parts.port is None or parts.port > 0
    except ValueError:
        raise ConfigError(
            f"{name} is malformed: redis://user:password@host:6379/0 is the form, "
            "with / ? # @ in a password percent-encoded"
        ) from None
    if parts.scheme not in REDIS_SCHEMES:
        raise ConfigError(f"{name} must start with {', '.join(f'{each}://' for each in REDIS_SCHEMES)}")
    if parts.scheme == "unix" and not parts.path:
        raise ConfigError(f"{name} names no socket path: unix:///path/to/socket is the form")
    if parts.scheme != "unix" and not parts.hostname:
        raise ConfigError(f"{name} names no host: redis://host:6379/0 is the form")
    if not port_is_readable:
        raise ConfigError(f"{name} has port 0")
    return url


def masked_url(url: str | None) -> str | None:
    """The URL without its password, wherever that stands, for logs and reprs."""
    if url is None:
        return None
    parts = urlsplit(url)
    _, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"***@{host}" if at else host, query=""))


def _ttl(text: str) -> int:
    if not text.strip():
        return DEFAULT_TTL_SECONDS
    try:
        seconds = int(text)
    except ValueError:
        raise ConfigError(f"CAPTURE_TTL_SECONDS must be a whole number of seconds, not {text!r}") from None
    if seconds < 1:
        raise ConfigError(f"CAPTURE_TTL_SECONDS must be at least 1, not {seconds}")
    return seconds
