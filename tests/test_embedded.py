"""The embedded servers: shared by whoever is there, gone with the last, never in the way of the next."""

import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from redis import Redis

from capture_site.embedded import EmbeddedError, attach
from capture_site.embedded.binaries import postgres_prefix
from capture_site.embedded.places import _copied, prepare
from capture_site.embedded.servers import _reason
from tests.site_process import ROOT, forget

PROGRAM = """
import sys
from pathlib import Path
from capture_site.embedded import attach
print(attach(Path(sys.argv[1])).buffer_url, flush=True)
sys.stdin.readline()
"""
User = subprocess.Popen[str]


@pytest.fixture
def users(tmp_path: Path) -> Iterator[Callable[[], User]]:
    """Start a process that uses the stack of one folder until it is told, or made, to end."""
    started: list[User] = []

    def start(folder: Path = tmp_path / "stack") -> User:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        leave(process)
    forget(tmp_path)


def leave(process: User) -> None:
    """Let a user end as it likes to."""
    if process.stdin is not None and not process.stdin.closed:
        process.stdin.close()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def url_of(process: User) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def answers(url: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(url.removeprefix("unix://")) == 0


def is_gone(url: str) -> bool:
    """Wait, a bounded time, until nobody answers."""
    deadline = time.monotonic() + 15
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not answers(url)


def supervisor_of(folder: Path) -> int:
    """The supervisor's pid, as the system knows it by its command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            words = (entry / "cmdline").read_bytes().split(b"\0") if (entry / "cmdline").exists() else []
            if b"capture_site.embedded.supervise" in words and os.fsencode(folder) in words:
                return int(entry.name)
    raise AssertionError(f"no supervisor of {folder}")


def test_two_share_one_stack_and_the_last_to_leave_stops_it(users: Callable[[], User]) -> None:
    first, second = users(), users()
    url = url_of(first)
    assert url == url_of(second)
    leave(first)
    time.sleep(2.5)
    assert answers(url)
    leave(second)
    assert is_gone(url)


def test_a_killed_user_blocks_nothing(users: Callable[[], User]) -> None:
    first = users()
    url = url_of(first)
    first.kill()
    first.wait()
    assert is_gone(url)
    assert url_of(users()) == url
    assert answers(url)


def test_a_killed_supervisor_blocks_nothing(users: Callable[[], User], tmp_path: Path) -> None:
    url = url_of(users())
    os.kill(supervisor_of(tmp_path / "stack"), signal.SIGKILL)
    again = users()
    assert url_of(again) == url
    assert answers(url)


def test_a_stale_pid_that_is_now_somebody_else_is_left_alone(
    users: Callable[[], User], tmp_path: Path
) -> None:
    first = users()
    url = url_of(first)
    leave(first)
    assert is_gone(url)
    bystander = subprocess.Popen(["sleep", "60"])
    cluster = prepare(tmp_path / "stack").data / "cluster"
    (cluster / "postmaster.pid").write_text(f"{bystander.pid}\n{cluster}\n")
    assert answers(url_of(users()))
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_folder_too_deep_for_a_socket_path_works(users: Callable[..., User], tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / "stack"
    url = url_of(users(deep))
    assert len(url) < 107
    assert answers(url)


def test_the_servers_are_set_up_as_designed(users: Callable[[], User], tmp_path: Path) -> None:
    url_of(users())
    state = json.loads((tmp_path / "stack" / "state.json").read_text())
    with Redis.from_url(state["buffer_url"], decode_responses=True) as buffer:
        assert buffer.config_get("maxmemory-policy") == {"maxmemory-policy": "volatile-ttl"}
        assert int(buffer.config_get("maxmemory")["maxmemory"]) > 0
        assert buffer.config_get("save") == {"save": ""}
        assert buffer.config_get("appendonly") == {"appendonly": "no"}
    with Redis.from_url(state["cache_url"]) as cache:
        assert cache.ping()
    with psycopg.connect(state["database_url"]) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert state["buffer_url"] != state["cache_url"]
    assert (tmp_path / "stack" / "secrets.json").stat().st_mode & 0o077 == 0


def test_attaching_twice_gives_the_same_stack_and_a_repr_without_secrets() -> None:
    folder = Path(os.environ["CAPTURE_EMBEDDED_DIR"])
    stack = attach(folder)
    assert attach(folder) is stack
    assert stack.secret_key not in repr(stack)
    assert stack.service_key not in repr(stack)


def test_the_reason_given_is_the_last_complaint_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "servers.log"
    log.write_text("FATAL:  could not write: No space left on device\ninitdb: removing data directory\n")
    assert "No space left" in _reason(log)
    log.write_text("one\ntwo\n")
    assert _reason(log) == "two"
    log.write_text("")
    assert _reason(log) == "it said nothing"


def test_a_copy_of_postgres_can_be_reached_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        copy = _copied(postgres_prefix(), tmp_path / "pgsql")
    finally:
        os.umask(before)
    binary = copy / "bin" / "postgres"
    ours = [folder for folder in binary.parents if folder.is_relative_to(tmp_path / "pgsql")]
    assert all(each.stat().st_mode & 0o001 for each in (binary, *ours))
    assert subprocess.run([binary, "--version"], capture_output=True, check=True).stdout


def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbeddedError, match=r"cannot be used .*set CAPTURE_EMBEDDED_DIR"):
        attach(tmp_path / "file" / "stack")


def test_another_users_folder_is_one_sentence(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder that belongs to somebody else")
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(EmbeddedError, match="belongs to another user"):
        attach(folder)


def python_of_everybody() -> dict[str, str]:
    """An interpreter that any user may run, and the environment that finds our packages with it."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = Path(psycopg.__file__).parents[1]
    for candidate in (Path(sys.executable).resolve(), Path("/usr/bin") / version):
        if candidate.exists() and all(folder.stat().st_mode & 0o001 for folder in candidate.parents):
            return {"python": str(candidate), "PYTHONPATH": str(packages)}
    pytest.skip(f"no {version} that another user may run")


def test_another_user_of_the_machine_can_do_the_same(users: Callable[[], User]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    nobody, shared = pwd.getpwnam("nobody"), python_of_everybody()
    with tempfile.TemporaryDirectory(dir="/tmp") as theirs:
        os.chown(theirs, nobody.pw_uid, nobody.pw_gid)
        mine = url_of(users())
        command = [shared.pop("python"), "-c", PROGRAM, f"{theirs}/stack"]
        whom: dict[str, Any] = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        process = subprocess.Popen(
            command, cwd=ROOT, env=shared, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **whom
        )
        url = url_of(process)
        assert answers(url)
        assert url != mine
        leave(process)
        assert is_gone(url)
        time.sleep(1)
