"""The server as it is deployed: gunicorn with two workers on loopback, its own PostgreSQL and Redis beside it."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

from bench.peers import ROOT
from capture_site.embedded import valkey_binary
from capture_site.embedded.places import Places, prepare
from capture_site.embedded.servers import CACHE, start_postgres, start_redis, stop

WORKERS: Final = 2
START_SECONDS: Final = 60.0
API: Final = "/internal/agent-capture/"
STAFF: Final = "/agent-capture/"
DISK: Final = (
    "PostgreSQL runs with fsync off, as the embedded one does: a commit that waits for its disk takes longer"
)
ELSEWHERE: Final = "not of this run, measured elsewhere with turns of the same sizes"
# The policy of a real buffer; room enough that nothing is evicted while it is measured.
_BUFFER: Final = ("--maxmemory", "4gb", "--maxmemory-policy", "volatile-ttl")
_SCOPES: Final = "read-own+read-all+promote+ingest"


@dataclass(frozen=True, slots=True)
class Site:
    """A server that answers, and where its stores are. ``environ`` is what its commands run with."""

    folder: Path
    port: int
    key: str = field(repr=False)
    database_url: str
    buffer_url: str
    environ: Mapping[str, str] = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries: the key, and what a proxy that ended TLS says."""
        return {"X-Service-Key": self.key, "X-Forwarded-Proto": "https"}

    def manage(self, *arguments: str) -> str:
        """Run a command of the project on this site's stores; what it printed. Raises CalledProcessError."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.environ, capture_output=True, text=True, check=True)
        return done.stdout


@contextmanager
def site() -> Iterator[Site]:
    """A new server with empty stores; all of it has ended and is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, ExitStack() as running:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL may have to run as another user, who passes through
        running.callback(_remove_elsewhere, folder)
        made = _site(folder, _stores(folder, running))
        made.manage("migrate", "--verbosity", "0")
        running.callback(stop, _serve(made), signal.SIGTERM)
        _wait_until_ready(made)
        yield made


def _stores(folder: Path, running: ExitStack) -> Places:
    places, log, valkey = prepare(folder), folder / "servers.log", valkey_binary()
    for name, options in (("buffer", _BUFFER), ("cache", CACHE)):
        process = start_redis(valkey, places.run / f"{name}.sock", log, options)
        running.callback(stop, process, signal.SIGTERM)
    running.callback(stop, start_postgres(places, log), signal.SIGINT)
    return places


def _site(folder: Path, places: Places) -> Site:
    key = secrets.token_urlsafe(32)
    environ = {
        "PATH": os.environ.get("PATH", ""),
        "DATABASE_URL": places.database_url,
        "AGENT_CAPTURE_REDIS_URL": f"unix://{places.buffer_socket}",
        "REDIS_URL": f"unix://{places.cache_socket}",
        "AGENT_CAPTURE_SERVICE_KEYS": f"bench:{_SCOPES}:{key}",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "ALLOWED_HOSTS": "127.0.0.1",
        "TRUST_PROXY_TLS": "1",
    }
    return Site(folder, _free_port(), key, places.database_url, f"unix://{places.buffer_socket}", environ)


def _serve(made: Site) -> "subprocess.Popen[bytes]":
    arguments = ["serve", "--bind", f"127.0.0.1:{made.port}", "--workers", str(WORKERS)]
    with (made.folder / "site.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=made.environ, stdout=log, stderr=log
        )


def _wait_until_ready(made: Site) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(made):
        if time.monotonic() > deadline:
            said = (made.folder / "site.log").read_text(errors="replace").strip().splitlines()
            raise RuntimeError(f"the server did not answer within {START_SECONDS:.0f} s: {said[-1:]}")
        time.sleep(0.1)


def _answers(made: Site) -> bool:
    connection = HTTPConnection("127.0.0.1", made.port, timeout=5)
    with suppress(OSError):
        connection.request("GET", f"{API}recent-hands?limit=1", headers=made.headers)
        return connection.getresponse().status == 200
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _remove_elsewhere(folder: Path) -> None:
    """What lies outside the folder because PostgreSQL could not reach into it."""
    note = folder / "elsewhere"
    for each in note.read_text().splitlines() if note.exists() else []:
        shutil.rmtree(each, ignore_errors=True)
