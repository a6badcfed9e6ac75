"""Stores that fail in every way a store can: real Redis servers that are killed, stopped, filled, and made to err."""

import os
import signal
import subprocess
from pathlib import Path

from capture_site.embedded.servers import start_redis, stop


class Store:
    """A Redis server of a test's own, that comes and goes."""

    def __init__(self, binary: Path, folder: Path, *options: str) -> None:
        self._binary, self._folder = binary, folder
        self._options = options or ("--save", "", "--appendonly", "no")
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{folder}/redis.sock"

    def start(self) -> "Store":
        self._process = start_redis(
            self._binary, self._folder / "redis.sock", self._folder / "redis.log", self._options
        )
        return self

    def kill(self) -> None:
        """As a crash does: nothing is said to anybody."""
        if self._process is not None:
            stop(self._process, signal.SIGKILL)
            self._process = None

    def freeze(self) -> None:
        """It accepts connections and never answers."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)
