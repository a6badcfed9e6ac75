"""What the measuring process asks of every recorder, and the one that does nothing."""

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from bench.workload import Turn


class Recorder(Protocol):
    """What the measuring process asks of every recorder. ``lost`` is None where it cannot be asked."""

    def record(self, turn: Turn) -> None: ...
    def flush(self, seconds: float) -> None: ...
    def close(self) -> None: ...
    def lost(self) -> dict[str, int] | None: ...


class Noop:
    """Records nothing: what remains is the harness."""

    def __init__(self, url: str) -> None:
        self.url = url

    def record(self, turn: Turn) -> None:
        """Do nothing with the turn."""

    def flush(self, seconds: float) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""

    def lost(self) -> dict[str, int] | None:
        """Nothing was promised."""
        return None


def quietly(call: Callable[[], object]) -> None:
    """Call, and let a recorder's fault be its own."""
    with suppress(Exception):
        call()
