"""Looking at everything, one part after the other. A part that cannot be asked is a finding, and no end."""

from capture import findings, stores
from capture.doctor import durable, hot, site
from capture.doctor.diagnosis import Diagnosis
from capture.findings import Finding
from capture.stores import StoreSilent


def examine() -> Diagnosis:
    """Look at the whole installation; changes nothing."""
    parts = {
        "environment": site.environment,
        "service keys": site.service_keys,
        "static files": site.static_files,
        "addresses": site.addresses,
        "capture Redis": _buffer,
        "Postgres": _durable,
    }
    found = [each for look in parts.values() for each in look()]
    return Diagnosis(tuple(found), tuple(parts))


def _buffer() -> list[Finding]:
    try:
        return hot.buffer()
    except StoreSilent as exc:
        return [findings.of_silent_redis(exc)]


def _durable() -> list[Finding]:
    try:
        stores.within(stores.postgres_answers)
    except StoreSilent as exc:
        return [durable.silent(exc)]
    return durable.look()
