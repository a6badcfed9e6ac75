"""What ``manage.py check`` says about the capture side of an installation; ``capture.findings`` lists the ids.

A missing or malformed URL, and a capture Redis that is the cache's server by its address, are refused before any
check, while the settings load. Checks that ask the capture Redis are registered by the command ``check`` alone.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.apps.config import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from capture import findings, stores
from capture.auth import parse_keys
from capture.findings import Finding
from capture.stores import StoreSilent

Apps = Sequence[AppConfig] | None


@checks.register(checks.Tags.security)
def service_keys(app_configs: Apps, **kwargs: Any) -> list[checks.CheckMessage]:
    """Every entry of AGENT_CAPTURE_SERVICE_KEYS can be read, and has a key of its own."""
    try:
        parse_keys(settings.AGENT_CAPTURE_SERVICE_KEYS)
    except ImproperlyConfigured as exc:
        return [checks.Error(str(exc), hint="name:scope+scope[@agent,…]:key;…", id="capture.E001")]
    return _messages(findings.of_same_keys(key_entries()))


@checks.register(checks.Tags.security, deploy=True)
def service_keys_are_strong(app_configs: Apps, **kwargs: Any) -> list[checks.CheckMessage]:
    """A service is not put into production with a key that can be guessed."""
    return _messages(findings.of_weak_keys(key_entries(), id_="capture.E010"))


def service_keys_seem_strong(app_configs: Apps, **kwargs: Any) -> list[checks.CheckMessage]:
    """The same as a warning. Registered by ``check`` without ``--deploy``."""
    return _messages(findings.of_weak_keys(key_entries(), id_="capture.W005"))


@checks.register(checks.Tags.caches, deploy=True)
def capture_redis_answers(app_configs: Apps, **kwargs: Any) -> list[checks.CheckMessage]:
    """A service is not put into production without its buffer."""
    try:
        stores.redis_answers()
    except StoreSilent as exc:
        return _messages([findings.of_silent_redis(exc)])
    return []


@checks.register("stores", deploy=True)
def migrations_are_applied(app_configs: Apps, **kwargs: Any) -> list[checks.CheckMessage]:
    """A service finds its tables; one that starts while Postgres is down is only warned, and serves the buffer."""
    try:
        return _messages(findings.of_missing_migrations(stores.within(stores.missing_migrations)))
    except StoreSilent as exc:
        return _messages([findings.of_unknown_migrations(exc)])


def capture_redis_settings(app_configs: Apps, **kwargs: Any) -> list[checks.CheckMessage]:
    """It is a server for captures alone, that evicts what expires soonest and bounds its memory."""
    try:
        facts = stores.redis_facts()
        found = findings.of_redis_kind(facts) + findings.of_redis_settings(facts)
        if not found:
            found = findings.of_foreign_keys(*stores.foreign_keys())
    except StoreSilent as exc:
        text = f"The capture Redis could not be looked at: {exc.kind}."
        return [checks.Warning(text, hint=findings.of_silent_redis(exc).remedy, id="capture.W003")]
    return _messages(found)


def key_entries() -> list[tuple[str, str]]:
    """Name and key of every entry of the setting that has three parts; ``parse_keys`` says what else is wrong."""
    parts = [entry.strip().split(":", 2) for entry in settings.AGENT_CAPTURE_SERVICE_KEYS.split(";")]
    return [(each[0], each[2]) for each in parts if len(each) == 3]


def _messages(found: Iterable[Finding]) -> list[checks.CheckMessage]:
    kinds = {"E": checks.Error, "W": checks.Warning}
    return [
        kinds[each.id.removeprefix("capture.")[0]](f"{each.seen} {each.means}", hint=each.remedy, id=each.id)
        for each in found
    ]
