"""One bounded HTTP call to the capture server, and what its answer means for whoever wants to try again.

A server that cannot be reached, is busy (429) or failing (5xx) is worth another try, and its ``Retry-After`` is
honoured; any other refusal is final. Redirects are not followed: they would carry the key elsewhere.
"""

import datetime
import email.utils
import gzip
import json
import os
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from capture_sdk.config import Config
from capture_sdk.errors import ConfigError, TransportError

if TYPE_CHECKING:
    import urllib3

_WORTH_ANOTHER_TRY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_ANSWER: Final = 16 * 1024 * 1024  # bytes: a batch's results are a few kilobytes


_parents: Final[list[object]] = []  # kept: throwing one away may wait for a lock that the parent held


class Poster:
    """Posts JSON with the service key, on connections that are kept. Safe for any thread."""

    def __init__(self, config: Config) -> None:
        try:
            import urllib3
        except ImportError as exc:
            raise ConfigError("HTTP needs urllib3: pip install 'capture-sdk[http]'") from exc
        self._base = config.base_url or ""
        self._path = urlsplit(self._base).path
        self._key = config.service_key or ""
        self._timeout = urllib3.Timeout(connect=config.connect_timeout, read=config.write_timeout)
        self._pool, self._pid = self._make(), os.getpid()

    def post(self, path: str, payload: dict[str, Any], *, request_id: str) -> list[dict[str, Any]]:
        """Post ``payload``; returns the results of its items. Raises TransportError."""
        import urllib3

        body = gzip.compress(json.dumps(payload, separators=(",", ":")).encode(), 1, mtime=0)
        headers = {
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
            "X-Service-Key": self._key,
            "X-Request-Id": request_id,  # the same for every try: the server's log tells repeats from batches
        }
        try:
            answer = self._own_pool().request(
                "POST", self._path + path, body=body, headers=headers, redirect=False
            )
        except urllib3.exceptions.HTTPError as exc:
            raise TransportError(
                type(exc).__name__
            ) from None  # its text names the address and no more is needed
        if answer.status != 200:
            raise TransportError(
                f"http_{answer.status}",
                retryable=answer.status in _WORTH_ANOTHER_TRY,
                retry_after=_seconds(answer.headers.get("Retry-After")),
            )
        return _results(answer.data)

    def close(self) -> None:
        """Close the kept connections. A later call opens them again."""
        if self._pid == os.getpid():
            self._pool.close()
            self._pool = self._make()

    def _own_pool(self) -> "urllib3.HTTPConnectionPool":
        """A forked child makes connections of its own, and touches no lock of its parent's."""
        if self._pid != os.getpid():
            _parents.append(self._pool)
            self._pool, self._pid = self._make(), os.getpid()
        return self._pool

    def _make(self) -> "urllib3.HTTPConnectionPool":
        import urllib3

        return urllib3.connection_from_url(self._base, maxsize=2, timeout=self._timeout, retries=False)


def _results(data: bytes) -> list[dict[str, Any]]:
    try:
        results = json.loads(data[:_LONGEST_ANSWER])["results"]
        if all(isinstance(each["status"], str) for each in results):
            return list(results)
    except (ValueError, KeyError, TypeError):
        pass  # something else than a capture server answers there
    raise TransportError("no_capture_server", retryable=False)


def _seconds(header: str | None) -> float | None:
    """``Retry-After`` in seconds: a number, or a date (RFC 9110, 10.2.3)."""
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        until = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (until - datetime.datetime.now(datetime.UTC)).total_seconds())
