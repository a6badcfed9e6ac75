"""What recorders send to: a server that works, one that is not there, and one that never answers."""

import json
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.request import urlopen

from redis import Redis

from bench.peers import ROOT
from bench.recorders import Entry
from bench.sink import TURNS_PATH
from capture_site import embedded

State = Literal["up", "refusing", "hanging"]


@contextmanager
def store(entry: Entry, state: State = "up") -> Iterator[str]:
    """The URL of a new store for this recorder, in this state; it is gone afterwards."""
    if entry.store == "none":
        yield ""
    elif state == "up":
        with sink() if entry.store == "http" else redis(embedded.valkey_binary()) as url:
            yield url
    else:
        with _deaf_port(is_listening=state == "hanging") as port:
            yield f"{entry.store}://127.0.0.1:{port}"


@contextmanager
def redis(binary: Path) -> Iterator[str]:
    """A new server of this binary, without persistence and without bound, on a unix socket."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        embedded.redis_server(binary, Path(folder), "--maxmemory", "0") as url,
    ):
        yield url


@contextmanager
def sink() -> Iterator[str]:
    """A new ``bench.sink``."""
    command = [sys.executable, "-m", "bench.sink"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def arrived(entry: Entry, url: str) -> int | None:
    """How many different turns are in the store."""
    if entry.store == "redis":
        with Redis.from_url(url) as client:
            return sum(1 for _ in client.scan_iter("turn:*", count=1_000))
    if entry.store == "http":
        with urlopen(url + TURNS_PATH, timeout=30) as answer:  # noqa: S310 - a loopback address of our own
            return int(json.load(answer)["turns"])
    return None


def version(binary: Path) -> str:
    """Name and version of a server, as it says itself."""
    said = subprocess.run([str(binary), "--version"], capture_output=True, text=True, timeout=10, check=True)
    found = re.search(r"v=(\S+)", said.stdout)
    return f"{'Valkey' if 'valkey' in binary.name else 'Redis'} {found[1] if found else said.stdout.strip()}"


@contextmanager
def _deaf_port(*, is_listening: bool) -> Iterator[int]:
    """A loopback port of ours: not listened to it refuses; else connections open and stay silent."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        if is_listening:
            deaf.listen(512)  # the system accepts; nobody ever reads
        yield deaf.getsockname()[1]
