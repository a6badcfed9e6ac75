"""What ``manage.py check`` says about the capture side of an installation.

    capture.E001  a service key entry is malformed
    capture.E002  the capture Redis does not answer                        (check --deploy)
    capture.W001  the capture Redis does not evict by ``volatile-ttl``
    capture.W002  the capture Redis has no ``maxmemory``
    capture.W003  neither could be looked up

A missing or malformed URL, and a capture Redis that is the cache's server, are refused before any check,
while the settings load.
"""

from collections.abc import Sequence
from typing import Any

from django.apps.config import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django_redis import get_redis_connection
from redis.exceptions import RedisError

from capture.auth import parse_keys


@checks.register(checks.Tags.security)
def service_keys(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Every entry of AGENT_CAPTURE_SERVICE_KEYS can be read."""
    try:
        parse_keys(settings.AGENT_CAPTURE_SERVICE_KEYS)
    except ImproperlyConfigured as exc:
        return [checks.Error(str(exc), hint="name:scope+scope[@agent,…]:key;…", id="capture.E001")]
    return []


@checks.register(checks.Tags.caches, deploy=True)
def capture_redis_answers(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """A service is not put into production without its buffer."""
    try:
        get_redis_connection("capture").ping()
    except RedisError as exc:
        text = f"The capture Redis does not answer: {type(exc).__name__}."
        return [checks.Error(text, hint="Start it, or correct AGENT_CAPTURE_REDIS_URL.", id="capture.E002")]
    return []


def capture_redis_settings(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """It evicts what expires soonest, and bounds its memory. Registered by the command ``check`` alone."""
    try:
        limits = get_redis_connection("capture").config_get("maxmemory*")
    except RedisError as exc:
        text = f"The settings of the capture Redis could not be read: {type(exc).__name__}."
        return [checks.Warning(text, hint="See capture.W001 and capture.W002.", id="capture.W003")]
    return list(_judge(limits))


def _judge(limits: dict[str, str]) -> Sequence[checks.CheckMessage]:
    found: list[checks.CheckMessage] = []
    policy = limits.get("maxmemory-policy", "unknown")
    if policy != "volatile-ttl":
        hint = "Set maxmemory-policy volatile-ttl, so that what expires soonest is evicted first."
        found.append(checks.Warning(f"The capture Redis evicts by {policy!r}.", hint=hint, id="capture.W001"))
    if limits.get("maxmemory", "0") == "0":
        hint = "Set maxmemory, so that the buffer bounds itself."
        found.append(checks.Warning("The capture Redis has no maxmemory.", hint=hint, id="capture.W002"))
    return found
