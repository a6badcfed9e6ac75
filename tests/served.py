"""The site as it is served in production: gunicorn with several workers, in processes of their own."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.site_process import ROOT


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class Service:
    """``manage.py serve`` with two workers, on a unix socket unless ``bind`` says otherwise."""

    def __init__(self, folder: Path, environment: dict[str, str], *, bind: str | None = None) -> None:
        self.socket, self.log = folder / "site.sock", folder / "log"
        plain = {"PATH": os.environ["PATH"], "TMPDIR": str(folder)}
        command = [
            sys.executable,
            "manage.py",
            "serve",
            "--workers",
            "2",
            "--bind",
            bind or f"unix:{self.socket}",
        ]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=plain | environment, stdout=log, stderr=log
            )

    def get(self, path: str, headers: dict[str, str]) -> tuple[int, str]:
        """The answer's status and body over a connection of its own, so that either worker may take it."""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(self.socket))
            lines = [f"GET {path} HTTP/1.0", *(f"{name}: {value}" for name, value in headers.items())]
            peer.sendall("\r\n".join([*lines, "", ""]).encode())
            answer = http.client.HTTPResponse(peer)
            answer.begin()
            return answer.status, answer.read().decode()

    def wait(self) -> None:
        """Wait until both workers are started. Fails with the log when they are not."""
        deadline = time.monotonic() + 30
        while self.log.read_text().count("Booting worker") < 2:
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """End it as a process manager does, and wait."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
