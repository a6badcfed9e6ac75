"""The only reader of the server's environment.

Each variable has a strict helper: what is missing or malformed is refused in one sentence that names the
variable and the remedy, and never repeats a password. All that is wrong is said at once, a line each.
Secrets may also come from a file, named by ``<NAME>_FILE``.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from capture_sdk.config import checked_redis_url
from capture_sdk.errors import ConfigError
from capture_site.embedded import EmbeddedError, Stack, attach
from capture_site.logs import JSON, LINE
from capture_site.same_server import same_server

BASE_DIR: Final = Path(__file__).resolve().parent.parent
_LOOPBACK: Final = ["127.0.0.1", "localhost", "[::1]"]


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything the settings need to know; its repr shows no secret."""

    database: dict[str, Any] = field(repr=False)
    capture_redis_url: str = field(repr=False)
    cache_redis_url: str | None = field(repr=False)
    secret_key: str = field(repr=False)
    service_keys: str = field(repr=False)
    ttl_seconds: int
    debug: bool
    allowed_hosts: list[str]
    csrf_trusted_origins: list[str]
    trust_proxy_tls: bool
    url_prefix: str
    is_embedded: bool
    log_format: str
    metrics_folder: str


def load() -> Environment:
    """Read the environment, and the embedded servers' answers with CAPTURE_EMBEDDED=1.

    Raises ImproperlyConfigured with a sentence for each variable that is refused.
    """
    env = environ.Env()
    stack = _embedded(env)
    read: dict[str, Callable[[], Any]] = {
        "capture_redis_url": lambda: _capture_redis_url(stack),
        "database": lambda: _database(stack.database_url if stack else None),
        "cache_redis_url": lambda: _redis_url("REDIS_URL", stack.cache_url if stack else None),
        "secret_key": lambda: _needed(
            "SECRET_KEY", stack.secret_key if stack else None, "a long random string"
        ),
        "service_keys": lambda: _text("AGENT_CAPTURE_SERVICE_KEYS") or _local_key(stack),
        "ttl_seconds": lambda: _positive(env, "CAPTURE_TTL_SECONDS", 86_400),
        "debug": lambda: _boolean(env, "DEBUG"),
        "allowed_hosts": lambda: _names("ALLOWED_HOSTS") or (_LOOPBACK if stack else []),
        "csrf_trusted_origins": lambda: _names("CSRF_TRUSTED_ORIGINS"),
        "trust_proxy_tls": lambda: _boolean(env, "TRUST_PROXY_TLS"),
        "url_prefix": lambda: _prefix("URL_PREFIX"),
        "is_embedded": lambda: stack is not None,
        "log_format": lambda: _log_format(is_plain=stack is not None or _boolean(env, "DEBUG")),
        "metrics_folder": lambda: os.environ.get("PROMETHEUS_MULTIPROC_DIR", ""),
    }
    found = Environment(**_all(read))
    _keep_apart(found)
    return found


def _all(read: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Every value, or every refusal, each said once."""
    found, refused = {}, []
    for name, each in read.items():
        try:
            found[name] = each()
        except ImproperlyConfigured as exc:
            refused.append(str(exc))
    if refused:
        raise ImproperlyConfigured("\n".join(dict.fromkeys(refused)))
    return found


def _keep_apart(found: Environment) -> None:
    if found.cache_redis_url is not None and same_server(found.capture_redis_url, found.cache_redis_url):
        raise ImproperlyConfigured(
            "AGENT_CAPTURE_REDIS_URL names the server of REDIS_URL: captures need a Redis of their own, "
            "because it may evict them and the cache's may be flushed"
        )


def _capture_redis_url(stack: Stack | None) -> str:
    url = _redis_url("AGENT_CAPTURE_REDIS_URL", stack.buffer_url if stack else None)
    if url is None:
        raise _missing("AGENT_CAPTURE_REDIS_URL", "redis://host:6379/0, a Redis for captures alone")
    return url


def _log_format(*, is_plain: bool) -> str:
    """JSON for a service, lines for people who watch."""
    given = os.environ.get("LOG_FORMAT", "").strip().lower()
    if given not in ("", JSON, LINE):
        raise ImproperlyConfigured(f"LOG_FORMAT must be {JSON} or {LINE}, not {given!r}")
    return given or (LINE if is_plain else JSON)


def _embedded(env: environ.Env) -> Stack | None:
    if not _boolean(env, "CAPTURE_EMBEDDED"):
        return None
    try:
        return attach(Path(_text("CAPTURE_EMBEDDED_DIR") or BASE_DIR / ".embedded"))
    except EmbeddedError as exc:
        raise ImproperlyConfigured(f"CAPTURE_EMBEDDED: {exc}") from exc


def _local_key(stack: Stack | None) -> str:
    """With embedded servers one key of every scope exists, made for this folder."""
    return f"local:read-own+read-all+promote+ingest:{stack.service_key}" if stack else ""


def _prefix(name: str) -> str:
    """The path below which a proxy serves us: empty, or with a slash at its beginning and none at its end."""
    found = os.environ.get(name, "").strip().rstrip("/")
    if found and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", found):
        raise ImproperlyConfigured(f"{name} must be a path such as /tools/capture, not {found[:80]!r}")
    return found


def _text(name: str) -> str:
    """The variable, or the content of the file that ``<name>_FILE`` names; empty when neither is set."""
    if os.environ.get(name, "").strip():
        return os.environ[name].strip()
    file = os.environ.get(f"{name}_FILE", "").strip()
    if not file:
        return ""
    try:
        return Path(file).read_text().strip()
    except OSError as exc:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError:  # its message repeats a byte of the secret
        raise ImproperlyConfigured(f"{name}_FILE cannot be read: it holds no text") from None


def _names(name: str) -> list[str]:
    return [each.strip() for each in os.environ.get(name, "").split(",") if each.strip()]


def _needed(name: str, embedded: str | None, example: str) -> str:
    found = _text(name) or embedded
    if not found:
        raise _missing(name, example)
    return found


def _missing(name: str, example: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"{name} is missing: set it ({example}), or set CAPTURE_EMBEDDED=1 for the embedded servers"
    )


def _redis_url(name: str, embedded: str | None) -> str | None:
    found = _text(name) or embedded
    try:
        return checked_redis_url(found, name=name) if found else None
    except ConfigError as exc:
        raise ImproperlyConfigured(str(exc)) from None


def _database(embedded: str | None) -> dict[str, Any]:
    url = _needed("DATABASE_URL", embedded, "postgres://user:password@host:5432/name")
    # django-environ warns of what it does not know, with the URL in the warning: it is not asked then.
    try:
        is_postgres = urlsplit(url).scheme in ("postgres", "postgresql")
        database = environ.Env.db_url_config(url) if is_postgres else {}
    except (ValueError, KeyError):
        database = {}
    if not database.get("NAME"):
        raise ImproperlyConfigured(
            "DATABASE_URL is malformed: postgres://user:password@host:5432/name is the form"
        )
    return dict(database)


def _boolean(env: environ.Env, name: str) -> bool:
    given = os.environ.get(name, "").strip().lower()
    if given not in ("", "0", "1", "true", "false", "on", "off", "yes", "no"):
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {given!r}")
    return bool(given) and bool(env.bool(name))


def _positive(env: environ.Env, name: str, default: int) -> int:
    try:
        number = env.int(name, default=default) if os.environ.get(name, "").strip() else default
    except ValueError:
        number = 0
    if number < 1:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least 1, not {os.environ[name]!r}")
    return int(number)
