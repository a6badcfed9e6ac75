"""Service keys that were made by command: named, scoped, hashed, rotated without a restart.

A key is ``adc_<public id>_<secret>``. The public id finds its row; the sha256 of the whole, compared in constant
time, is what admits. The secret has 256 random bits, so a plain hash cannot be searched. Two keys of one name may
stand side by side, which is how one is rotated.
"""

import datetime
import hashlib
import hmac
import re
import threading
import time
from typing import Final

from django.utils import timezone

from capture.auth.callers import Caller, Scope
from capture.durable import DurableUnavailable, ask
from capture.limits import KEYS_REMEMBERED, KEYS_REMEMBERED_SECONDS
from capture.models import AgentServiceKey

_FORM: Final = re.compile(r"adc_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_NOBODY: Final = bytes(32)
_USED_EVERY: Final = datetime.timedelta(minutes=1)  # a busy key costs one write a minute, not one a request


class KeysUnavailable(Exception):
    """The database does not answer, so it cannot be said whose key this is."""


def stored_key(presented: str) -> Caller | None:
    """Whose key it is, by the database; where that does not answer, by what it said in the last minutes."""
    form = _FORM.fullmatch(presented)
    if form is None:
        return None
    digest = key_digest(presented)
    try:
        caller = ask(lambda: _look_up(form[1], digest))
    except DurableUnavailable as exc:
        if (known := _remembered.find(digest)) is None:
            raise KeysUnavailable("the database does not answer, so this key cannot be checked") from exc
        return known
    _remembered.keep(digest, caller)
    return caller


def _look_up(public_id: str, digest: bytes) -> Caller | None:
    row = AgentServiceKey.objects.filter(public_id=public_id).first()
    is_right = hmac.compare_digest(bytes(row.digest) if row is not None else _NOBODY, digest)
    if row is None or not is_right or not _is_valid(row):
        return None
    _note_use(row)
    agents = None if row.agents is None else frozenset(row.agents)
    return Caller(f"key:{row.name}", frozenset(Scope(scope) for scope in row.scopes), agents)


def _is_valid(row: AgentServiceKey) -> bool:
    return row.revoked_at is None and (row.expires_at is None or row.expires_at > timezone.now())


def _note_use(row: AgentServiceKey) -> None:
    now = timezone.now()
    if row.last_used_at is None or now - row.last_used_at > _USED_EVERY:
        AgentServiceKey.objects.filter(pk=row.pk).update(last_used_at=now)


def key_digest(key: str) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(key.encode()).digest()


class _Remembered:
    """The keys that the database knew in the last minutes, by digest: what a process falls back on."""

    def __init__(self) -> None:
        self._callers: dict[bytes, tuple[Caller, float]] = {}
        self._lock = threading.Lock()

    def keep(self, digest: bytes, caller: Caller | None) -> None:
        """Remember what the database said, also that it said no."""
        with self._lock:
            self._callers.pop(digest, None)
            if caller is not None:
                self._callers[digest] = caller, time.monotonic()
            while len(self._callers) > KEYS_REMEMBERED:
                del self._callers[next(iter(self._callers))]

    def find(self, digest: bytes) -> Caller | None:
        """Who that was, if it is not too long ago."""
        with self._lock:
            caller, seen_at = self._callers.get(digest, (None, 0.0))
        return caller if time.monotonic() - seen_at < KEYS_REMEMBERED_SECONDS else None


_remembered: Final = _Remembered()
