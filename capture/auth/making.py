"""Making, listing and revoking the keys of the database."""

import datetime
import secrets
from collections.abc import Collection

from django.db.models import Q
from django.utils import timezone

from capture.auth.callers import Scope
from capture.auth.stored import key_digest
from capture.limits import KEY_NAME_LENGTH
from capture.models import AgentServiceKey
from capture_sdk.keys import checked_id


class KeyRefused(Exception):
    """What was asked for makes no sense as a key; the message names the value."""


def create_key(
    name: str, scopes: Collection[Scope], *, agents: Collection[str], days: int | None, by: str
) -> tuple[AgentServiceKey, str]:
    """Make a key, bound to these agents if there are any; the second value is the key itself, kept nowhere.

    Raises KeyRefused or IdError.
    """
    if not 1 <= len(name) <= KEY_NAME_LENGTH or not name.isprintable():
        raise KeyRefused(f"a key's name has 1 to {KEY_NAME_LENGTH} printable characters, not {name!r}")
    if days is not None and days < 1:
        raise KeyRefused(f"a key is valid for at least 1 day, not {days}")
    public_id = secrets.token_hex(6)
    key = f"adc_{public_id}_{secrets.token_urlsafe(32)}"
    row = AgentServiceKey.objects.create(
        name=name,
        public_id=public_id,
        digest=key_digest(key),
        scopes=sorted(set(scopes)),
        agents=sorted({checked_id("agent", agent) for agent in agents}) or None,
        expires_at=None if days is None else timezone.now() + datetime.timedelta(days=days),
        created_by=by,
    )
    return row, key


def revoke_keys(named: str) -> int:
    """Revoke the key with this public id, or every key of this name; return how many were revoked now."""
    rows = AgentServiceKey.objects.filter(Q(public_id=named) | Q(name=named), revoked_at__isnull=True)
    return rows.update(revoked_at=timezone.now())


def described(row: AgentServiceKey) -> dict[str, object]:
    """What may be said of a key, in the forms of JSON."""
    return {
        "publicId": row.public_id,
        "name": row.name,
        "scopes": list(row.scopes),
        "agents": None if row.agents is None else list(row.agents),
        "state": _state(row),
        "createdBy": row.created_by,
        "createdAt": _time(row.created_at),
        "lastUsedAt": _time(row.last_used_at),
        "expiresAt": _time(row.expires_at),
        "revokedAt": _time(row.revoked_at),
    }


def _time(at: datetime.datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _state(row: AgentServiceKey) -> str:
    if row.revoked_at is not None:
        return "revoked"
    is_over = row.expires_at is not None and row.expires_at <= timezone.now()
    return "expired" if is_over else "valid"
