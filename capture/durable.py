"""The durable store's answer, or that there is none: one place that tells an outage from an error.

Waiting for a connection takes seconds when Postgres is down. Once one request has waited in vain, the process does not
wait again for a moment: it says at once what it would have said afterwards.
"""

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError

from capture.limits import OUTAGE_SECONDS

Answer = TypeVar("Answer")


class DurableUnavailable(Exception):
    """Postgres did not answer, so nothing can be said about what it holds."""


def ask(read: Callable[[], Answer]) -> Answer:
    """What ``read`` finds out. Raises DurableUnavailable for an outage; a wrong query still raises as it does."""
    if _outage.is_on():
        raise DurableUnavailable("Postgres did not answer a moment ago")
    try:
        return read()
    except (OperationalError, InterfaceError) as exc:
        if _is_connection(exc):
            _outage.begin()
        raise DurableUnavailable(type(exc).__name__) from exc


def _is_connection(error: DatabaseError | InterfaceError) -> bool:
    """Whether there was no connection: an error that the server itself states has a code."""
    cause = error.__cause__
    return cause is not None and getattr(cause, "sqlstate", "") is None


class _Outage:
    """Until when nobody waits for Postgres."""

    def __init__(self) -> None:
        self._until = 0.0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Now, for a moment."""
        with self._lock:
            self._until = time.monotonic() + OUTAGE_SECONDS

    def is_on(self) -> bool:
        """Whether it is still that moment."""
        with self._lock:
            return time.monotonic() < self._until


_outage: Final = _Outage()
