"""The doctor's look at settings, service keys and static files."""

import json
from pathlib import Path
from typing import Final

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from capture import findings, stores
from capture.auth import parse_keys
from capture.checks import key_entries
from capture.findings import Finding
from capture.stores import StoreSilent

_MANIFEST: Final = "staticfiles.json"


def environment() -> list[Finding]:
    """What Django itself says of a service's settings. Where they do not load at all, ``refused`` speaks."""
    if not settings.CAPTURE_IS_SERVICE:
        return []
    said = checks.run_checks(tags=[checks.Tags.security], include_deployment_checks=True)
    return [
        Finding(
            str(each.id), str(each.msg), "Django's own check of a deployment.", each.hint or "See the text."
        )
        for each in said
        if str(each.id).startswith("security.") and each.id != "security.W020"  # D008 says it better
    ]


def service_keys() -> list[Finding]:
    """Some key exists, every entry can be read, and no key can be guessed."""
    try:
        configured = parse_keys(settings.AGENT_CAPTURE_SERVICE_KEYS)
    except ImproperlyConfigured as exc:
        remedy = "Write it as name:scope+scope[@agent,…]:key;…, see docs/api.md."
        return [Finding("capture.E001", str(exc), "Every call of the API fails.", remedy)]
    entries = key_entries()
    found = findings.of_same_keys(entries) + findings.of_weak_keys(entries, id_="capture.E010")
    return found if configured or _is_key_stored() else [_NO_KEY]


def static_files() -> list[Finding]:
    """Every file that pages name is where they look for it."""
    manifest = Path(settings.STATIC_ROOT) / _MANIFEST
    try:
        collected = json.loads(manifest.read_text())["paths"]
    except (OSError, ValueError, KeyError):
        return [_static(f"Static files are not collected: there is no readable {_MANIFEST} in STATIC_ROOT.")]
    names = {name for finder in finders.get_finders() for name, _ in finder.list([])}
    missing = sorted(names - set(collected))
    if not missing:
        return []
    return [_static(f"{len(missing)} static files are not collected, {missing[0]!r} for one.")]


def addresses() -> list[Finding]:
    """The service answers to its own names, and a proxy's requests are not sent round in a ring."""
    found: list[Finding] = []
    if "*" in settings.ALLOWED_HOSTS or not (settings.ALLOWED_HOSTS or settings.DEBUG):
        seen = "names every host" if settings.ALLOWED_HOSTS else "names no host"
        means = (
            "links can be made to lead elsewhere" if settings.ALLOWED_HOSTS else "every request is refused"
        )
        remedy = "Name the hosts that people and programs ask for, separated by commas."
        found.append(Finding("capture.D008", f"ALLOWED_HOSTS {seen}.", f"So {means}.", remedy))
    if settings.CAPTURE_IS_SERVICE and settings.SECURE_PROXY_SSL_HEADER is None:
        found.append(_NO_PROXY)
    return found


def _is_key_stored() -> bool:
    """Whether a key made by command is in force; where Postgres does not answer, that is another finding."""
    try:
        return stores.within(stores.keys_in_force) > 0
    except StoreSilent:
        return True


def _static(seen: str) -> Finding:
    return Finding(
        "capture.D005",
        seen,
        "Pages answer 500, or come without style and script.",
        "Run manage.py collectstatic --noinput, after every update.",
    )


_NO_KEY: Final = Finding(
    "capture.D004",
    "There is no service key.",
    "The API refuses everybody, agents that send by HTTP and Prometheus included.",
    "Set AGENT_CAPTURE_SERVICE_KEYS, see docs/api.md.",
)
_NO_PROXY: Final = Finding(
    "capture.D009",
    "TRUST_PROXY_TLS is off, and serve speaks plain http.",
    "Every request is redirected to https, also those that a proxy brings, for ever.",
    "Set TRUST_PROXY_TLS=1 behind a proxy that ends TLS and sets X-Forwarded-Proto itself.",
)
