"""Starting, proving and stopping one server. Liveness is always proven by a connection."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psycopg
from redis import Redis
from redis.exceptions import RedisError

from capture_site.embedded.errors import EmbeddedError
from capture_site.embedded.places import Places

START_SECONDS: Final = 20.0
STOP_SECONDS: Final = 10.0
_PR_SET_PDEATHSIG: Final = 1

# The buffer as the design wants it: what expires soonest goes first, memory is bounded, nothing on disk.
BUFFER: Final = ("--maxmemory", "256mb", "--maxmemory-policy", "volatile-ttl")
CACHE: Final = ("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru")
# A development database: a crash of the machine may cost it, and starting it is fast.
_POSTGRES: Final = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=")


def start_redis(binary: Path, socket: Path, log: Path, options: tuple[str, ...]) -> "subprocess.Popen[bytes]":
    """Start a Redis-protocol server on a unix socket, without persistence."""
    _say_goodbye(socket)
    arguments = [str(binary), "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700"]
    arguments += [
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        str(socket.parent),
        "--daemonize",
        "no",
        *options,
    ]
    with log.open("ab") as out:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            preexec_fn=_die_with_parent(signal.SIGTERM),  # noqa: PLW1509 - one system call, nothing that locks
        )
    wait_until(lambda: redis_answers(socket), process, log, "the Redis server")
    return process


def start_postgres(places: Places, log: Path) -> "subprocess.Popen[bytes]":
    """Initialise the data folder where needed, start PostgreSQL, and make the database ``capture``."""
    cluster = places.data / "cluster"
    if not (cluster / "PG_VERSION").exists():
        _initialise(places, cluster, log)
    _clear_leftover(cluster)
    arguments = [str(places.postgres / "bin" / "postgres"), "-D", str(cluster), "-k", str(places.run)]
    for setting in _POSTGRES:
        arguments += ["-c", setting]
    process = _as_server_user(places, arguments, log)
    wait_until(lambda: postgres_answers(places.run), process, log, "PostgreSQL")
    _create_database(places.run)
    return process


def stop(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Ask a child to end, and end it when it does not listen."""
    if process.poll() is not None:
        return
    process.send_signal(number)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def redis_answers(socket: Path) -> bool:
    """Whether a Redis answers on this socket now."""
    try:
        with Redis.from_url(f"unix://{socket}", socket_timeout=2, socket_connect_timeout=2) as client:
            return bool(client.ping())
    except RedisError:
        return False


def postgres_answers(run: Path) -> bool:
    """Whether PostgreSQL answers in this folder now."""
    try:
        with _connect(run) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.Error:
        return False


@contextmanager
def redis_server(binary: Path, folder: Path, *options: str) -> Iterator[str]:
    """A throw-away server, as the buffer is configured unless ``options`` say otherwise; gives its URL."""
    socket = folder / "redis.sock"
    process = start_redis(binary, socket, folder / "redis.log", options or BUFFER)
    try:
        yield f"unix://{socket}"
    finally:
        stop(process, signal.SIGTERM)


def wait_until(ready: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path, what: str) -> None:
    """Wait until ``ready``. Raises EmbeddedError when the process ends first or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if process.poll() is not None:
            raise EmbeddedError(f"{what} did not start: {_reason(log)} (all of it is in {log})")
        if time.monotonic() > deadline:
            stop(process, signal.SIGKILL)
            raise EmbeddedError(f"{what} did not answer within {START_SECONDS:.0f} s; its log is {log}")
        time.sleep(0.02)


def _initialise(places: Places, cluster: Path, log: Path) -> None:
    """Into a folder beside it, then renamed: an interrupted initdb leaves nothing that looks finished."""
    half = places.data / "cluster.new"
    shutil.rmtree(half, ignore_errors=True)
    arguments = [str(places.postgres / "bin" / "initdb"), "-D", str(half), "-U", "postgres"]
    arguments += ["-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]
    process = _as_server_user(places, arguments, log)
    if process.wait() != 0:
        raise EmbeddedError(f"the database could not be made: {_reason(log)} (all of it is in {log})")
    half.rename(cluster)


def _as_server_user(places: Places, arguments: list[str], log: Path) -> "subprocess.Popen[bytes]":
    user = places.server_user
    with log.open("ab") as out:
        return subprocess.Popen(
            arguments,
            cwd=places.data,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            preexec_fn=_die_with_parent(signal.SIGINT),  # noqa: PLW1509 - one system call, nothing that locks
        )


def _clear_leftover(cluster: Path) -> None:
    """End a server that a killed supervisor left behind; a pid that is another process by now is let be."""
    file = cluster / "postmaster.pid"
    with suppress(FileNotFoundError, ValueError, IndexError):
        pid = int(file.read_text().splitlines()[0])
        if _works_in(pid, cluster):
            os.kill(pid, signal.SIGQUIT)
            deadline = time.monotonic() + STOP_SECONDS
            while _works_in(pid, cluster) and time.monotonic() < deadline:
                time.sleep(0.05)
        file.unlink(missing_ok=True)


def _works_in(pid: int, cluster: Path) -> bool:
    """Whether the process is a PostgreSQL of this data folder: it works in it, by its own account."""
    if sys.platform == "linux":
        with suppress(OSError):
            return Path(f"/proc/{pid}/cwd").resolve() == cluster.resolve()
        return False
    listed = subprocess.run(
        ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return str(cluster) in listed.stdout


def _say_goodbye(socket: Path) -> None:
    """End a Redis that a killed supervisor left on this socket, and remove the socket."""
    with suppress(RedisError), Redis.from_url(f"unix://{socket}", socket_timeout=2) as client:
        client.shutdown(nosave=True)
    socket.unlink(missing_ok=True)


def _create_database(run: Path) -> None:
    with _connect(run) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = 'capture'").fetchone() is None:
            connection.execute("CREATE DATABASE capture")


def _connect(run: Path) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(
        host=str(run), user="postgres", dbname="postgres", autocommit=True, connect_timeout=5
    )


def _die_with_parent(number: signal.Signals) -> Callable[[], None] | None:
    """Where the kernel offers it, the server ends with the supervisor, also when that is killed."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, int(number))

    return ask


def _reason(log: Path) -> str:
    """The line that says why: the last complaint, or where there is none, the last line."""
    lines = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    complaints = [line for line in lines if re.search(r"fatal|panic|error|no space", line, re.IGNORECASE)]
    return (complaints or lines)[-1].strip()
