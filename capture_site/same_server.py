"""Whether two Redis URLs name one server: another database number is still the same memory."""

import os
from typing import Final
from urllib.parse import urlsplit

_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}
_DEFAULT_PORT: Final = 6379


def same_server(one: str, other: str) -> bool:
    """Compare host and port, or socket path; the spellings of loopback count as one."""
    return _address(one) == _address(other)


def _address(url: str) -> tuple[str, int | str]:
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return ("unix", os.path.realpath(parts.path))  # /var/run is /run
    host = (parts.hostname or "").lower()
    return ("loopback" if host in _LOOPBACK else host, parts.port or _DEFAULT_PORT)
