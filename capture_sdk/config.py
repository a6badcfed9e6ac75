"""The SDK's settings, and its only reader of the environment.

AGENT_CAPTURE                  "on" (default) or "off"
AGENT_CAPTURE_REDIS_URL        where the buffer is; or
AGENT_CAPTURE_URL              the capture server, for agents that hold no Redis credentials
AGENT_CAPTURE_SERVICE_KEY      the key for that server, with the scope "ingest"
CAPTURE_TTL_SECONDS            how long a captured turn stays in the buffer (86400)
AGENT_CAPTURE_DIGEST_KEY       keys the digests that redaction leaves in place
AGENT_CAPTURE_ENCRYPTION_KEY   a Fernet key, for rules that say "encrypt"
AGENT_CAPTURE_RUN              the run that this process is part of, as its parent handed it over
"""

import difflib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from capture_sdk.errors import ConfigError
from capture_sdk.redact.marks import Keys
from capture_sdk.redact.policy import CapturePolicy

REDIS_SCHEMES: Final = ("redis", "rediss", "unix")
SPREAD_SCHEMES: Final = ("redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")
DEFAULT_TTL_SECONDS: Final = 86_400
_PREFIX: Final = "AGENT_CAPTURE"
_VARIABLES: Final = frozenset(
    {"", "_REDIS_URL", "_URL", "_SERVICE_KEY", "_DIGEST_KEY", "_ENCRYPTION_KEY", "_RUN"} | {"_SERVICE_KEYS"}
)  # the last is the server's; one environment often serves both


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything a client can be told. Times are seconds, sizes bytes.

    Turns go to ``redis_url``, or else to ``base_url`` with ``service_key``; charges always to the latter. The queue
    is bounded by items and by bytes, whatever is under way included: beyond either, a turn is dropped and
    counted. ``linger_seconds`` is how long turns gather to a batch. A record larger than ``max_record_bytes`` keeps
    its place and says what was cut. ``exit_timeout`` bounds the flush at interpreter exit, whatever the store
    does. Raises ConfigError for a value that cannot work.
    """

    redis_url: str | None = None
    base_url: str | None = None
    service_key: str | None = None
    policy: CapturePolicy = field(default_factory=CapturePolicy)
    ttl_seconds: int = DEFAULT_TTL_SECONDS
    queue_items: int = 2_000
    queue_bytes: int = 64 * 1024 * 1024
    batch_items: int = 64
    max_record_bytes: int = 32 * 1024 * 1024
    max_attempts: int = 5
    linger_seconds: float = 0.1
    backoff_seconds: float = 0.2
    backoff_limit_seconds: float = 5.0
    retry_after_limit_seconds: float = 60.0
    connect_timeout: float = 1.0
    write_timeout: float = 2.0
    exit_timeout: float = 2.0

    def __post_init__(self) -> None:
        if self.redis_url is not None:
            checked_redis_url(self.redis_url, name="redis_url", schemes=REDIS_SCHEMES + SPREAD_SCHEMES)
        if self.base_url is not None:
            object.__setattr__(self, "base_url", checked_base_url(self.base_url))
            if not self.service_key:
                raise ConfigError("base_url needs service_key: a service key with the scope ingest")
        for each in fields(self):
            if each.type is int:
                self._check(each.name, int, smallest=1)
            elif each.type is float:
                self._check(each.name, (int, float), smallest=0)

    def _check(self, name: str, kind: type | tuple[type, ...], *, smallest: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, kind):
            raise ConfigError(f"{name} must be a number, not {type(value).__name__}")
        if not smallest <= float(value) < math.inf:  # type: ignore[arg-type]
            raise ConfigError(f"{name} must be at least {smallest}, not {value}")

    @classmethod
    def of(cls, **options: object) -> "Config":
        """As the constructor, with an error that names an unknown option and the one that was meant."""
        known = [each.name for each in fields(cls)]
        for name in options:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                raise ConfigError(f"{name} is no option: {hint}")
        given: dict[str, Any] = dict(options)
        return cls(**given)

    def __repr__(self) -> str:
        where = {"redis_url": masked_url(self.redis_url), "base_url": masked_url(self.base_url)}
        said = [f"{name}={value!r}" for name, value in where.items() if value is not None]
        key = ["service_key=***"] if self.service_key else []
        return f"Config({', '.join([*said, *key, f'ttl_seconds={self.ttl_seconds}'])})"


def from_env(
    environ: Mapping[str, str] | None = None, needs_store: bool = True, /, **options: object
) -> Config | None:
    """Read the environment; None means that capture is switched off. ``options`` win over it.

    ``needs_store`` is false where the caller brings a transport of its own.

    Raises ConfigError naming the variable that is missing, unknown or malformed.
    """
    environ = os.environ if environ is None else environ
    _refuse_unknown(environ)
    switch = environ.get("AGENT_CAPTURE", "on").strip().lower()
    if switch not in ("on", "off"):
        raise ConfigError(f"AGENT_CAPTURE must be on or off, not {switch!r}")
    if switch == "off":
        return None
    redis_url = environ.get("AGENT_CAPTURE_REDIS_URL", "").strip() or None
    base_url = environ.get("AGENT_CAPTURE_URL", "").strip() or None
    service_key = environ.get("AGENT_CAPTURE_SERVICE_KEY", "").strip() or None
    if (
        needs_store
        and redis_url is None
        and base_url is None
        and not options.keys() & {"redis_url", "base_url"}
    ):
        raise ConfigError(
            "AGENT_CAPTURE_REDIS_URL is missing: set it to the capture Redis (redis://host:6379/0), "
            "or AGENT_CAPTURE_URL to the capture server, or set AGENT_CAPTURE=off"
        )
    if redis_url is not None:
        checked_redis_url(redis_url, schemes=REDIS_SCHEMES + SPREAD_SCHEMES)
    if base_url is not None:
        checked_base_url(base_url, name="AGENT_CAPTURE_URL")
        if service_key is None and "service_key" not in options:
            raise ConfigError(
                "AGENT_CAPTURE_URL needs AGENT_CAPTURE_SERVICE_KEY: a key with the scope ingest"
            )
    read: dict[str, Any] = {
        "redis_url": redis_url,
        "base_url": base_url,
        "service_key": service_key,
        "ttl_seconds": _ttl(environ.get("CAPTURE_TTL_SECONDS", "")),
        "policy": CapturePolicy(keys=_keys(environ)),
    }
    return Config.of(**(read | options))


def handed_run(environ: Mapping[str, str] | None = None) -> str | None:
    """What this process was handed of a run that it is part of, as it stands."""
    environ = os.environ if environ is None else environ
    return environ.get("AGENT_CAPTURE_RUN")


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    """A misspelt variable would otherwise be a setting that silently does nothing."""
    known = [_PREFIX + ending for ending in sorted(_VARIABLES)]
    for name in environ:
        if name.startswith(_PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise ConfigError(f"{name} is no setting{f': did you mean {near[0]}?' if near else ''}")


def _keys(environ: Mapping[str, str]) -> Keys:
    digest = environ.get("AGENT_CAPTURE_DIGEST_KEY", "").strip()
    encryption = environ.get("AGENT_CAPTURE_ENCRYPTION_KEY", "").strip()
    return Keys(digest.encode() or None, encryption.encode() or None)


def checked_base_url(url: str, *, name: str = "base_url") -> str:
    """Return ``url`` without its last slash if it names an HTTP server. Raises ConfigError, which quotes nothing."""
    try:
        parts = urlsplit(url)
        is_readable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_readable = False
    if not is_readable:
        raise ConfigError(f"{name} must name a server: https://capture.example.com is the form")
    if parts.query or parts.fragment or parts.username or parts.password:
        raise ConfigError(f"{name} takes a scheme, a host and a path: the key goes into the service key")
    return url.rstrip("/")


def checked_redis_url(
    url: str, *, name: str = "AGENT_CAPTURE_REDIS_URL", schemes: tuple[str, ...] = REDIS_SCHEMES
) -> str:
    """Return ``url`` if it names a Redis server. Raises ConfigError, which quotes nothing of the URL.

    A part of a URL that cannot be read may be anything, a piece of its password too.
    """
    if url.partition("://")[0] in SPREAD_SCHEMES and url.partition("://")[0] in schemes:
        spread_hosts(url, name=name)
        return url
    try:
        parts = urlsplit(url)
        port_is_readable = parts.port is None or parts.port > 0
    except ValueError:
        raise ConfigError(
            f"{name} is malformed: redis://user:password@host:6379/0 is the form, "
            "with / ? # @ in a password percent-encoded"
        ) from None
    if parts.scheme not in schemes:
        raise ConfigError(f"{name} must start with {', '.join(f'{each}://' for each in schemes)}")
    if parts.scheme == "unix" and not parts.path:
        raise ConfigError(f"{name} names no socket path: unix:///path/to/socket is the form")
    if parts.scheme != "unix" and not parts.hostname:
        raise ConfigError(f"{name} names no host: redis://host:6379/0 is the form")
    if not port_is_readable:
        raise ConfigError(f"{name} has port 0")
    return url


@dataclass(frozen=True, slots=True)
class SpreadUrl:
    """A Redis of several hosts: (host, port) of each, the Sentinel's service name, and how to log in."""

    hosts: tuple[tuple[str, int], ...]
    service: str | None
    db: int
    username: str | None = field(repr=False)
    password: str | None = field(repr=False)
    tls: bool


def spread_hosts(url: str, *, name: str = "redis_url") -> SpreadUrl:
    """Read ``redis+cluster://[user:password@]h:p,h:p`` or ``redis+sentinel://[…@]h:p,h:p/service[/db]``.

    Raises ConfigError, which quotes nothing of the URL.
    """
    scheme, _, rest = url.partition("://")
    form = f"{scheme}://host:port,host:port" + ("/service" if scheme.endswith("sentinel") else "")
    login, _, places = rest.rpartition("@")
    listed, _, path = places.partition("/")
    hosts = [_host_and_port(each) for each in listed.split(",")]
    service, _, db = path.partition("/")
    if any(each is None for each in hosts) or (db and not db.isdigit()):
        raise ConfigError(f"{name} is malformed: {form} is the form, / ? # @ in a password percent-encoded")
    if scheme.endswith("sentinel") and not service:
        raise ConfigError(f"{name} names no service: {form} is the form")
    username, _, password = login.partition(":")
    return SpreadUrl(
        hosts=tuple(each for each in hosts if each is not None),
        service=unquote(service) or None,
        db=int(db or 0),
        username=unquote(username) or None,
        password=unquote(password) or None,
        tls=scheme.startswith("rediss"),
    )


def _host_and_port(text: str) -> tuple[str, int] | None:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65_536:
        return None
    return host.strip("[]"), int(port)


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
