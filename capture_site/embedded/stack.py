"""Attaching to the embedded servers: find them running, or have them started, and be one of their users."""

import fcntl
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from capture_site.embedded.errors import EmbeddedError
from capture_site.embedded.places import claim
from capture_site.embedded.servers import postgres_answers, redis_answers

ATTACH_SECONDS: Final = 40.0  # a first start makes a database cluster, on a slow disk too
_CHECKOUT: Final = Path(__file__).resolve().parents[2]

_attached: dict[Path, tuple[int, "Stack"]] = {}


@dataclass(frozen=True, slots=True)
class Stack:
    """Where the embedded servers are, and the secrets that belong to this folder."""

    database_url: str
    buffer_url: str
    cache_url: str
    secret_key: str
    service_key: str

    def __repr__(self) -> str:
        return f"Stack(database_url={self.database_url!r}, buffer_url={self.buffer_url!r})"


def attach(folder: Path) -> Stack:
    """Use the servers of ``folder`` for the life of this process, starting them where needed.

    Asking again gives the same answer. Raises EmbeddedError, in one sentence, when they cannot be used.
    """
    folder = folder.resolve()
    known = _attached.get(folder)
    if known is not None:
        return known[1]
    try:
        claim(folder)
        _attached[folder] = _join(folder)
    except OSError as exc:
        remedy = "set CAPTURE_EMBEDDED_DIR to one that you may write, with room on its disk"
        raise EmbeddedError(f"the folder {folder} cannot be used ({exc.strerror}): {remedy}") from exc
    return _attached[folder][1]


def _join(folder: Path) -> tuple[int, Stack]:
    """Become one of the users: the descriptor whose lock says so, kept open for life, and the stack."""
    deadline = time.monotonic() + ATTACH_SECONDS
    with (folder / "start.lock").open("w") as start:  # one process at a time looks and starts
        _lock(start.fileno(), fcntl.LOCK_EX, deadline, folder)
        held = os.open(folder / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
        _lock(held, fcntl.LOCK_SH, deadline, folder)  # waits while a supervisor is on its way out
        try:
            stack = _running(folder, deadline) or _started(folder, deadline)
        except BaseException:
            os.close(held)
            raise
    return held, stack


def _running(folder: Path, deadline: float) -> Stack | None:
    """The stack of a supervisor that lives; None when there is none."""
    if not _is_supervised(folder):
        return None
    _wait(lambda: _state(folder) is not None or not _is_supervised(folder), deadline, folder)
    return _proven(folder)


def _started(folder: Path, deadline: float) -> Stack:
    (folder / "state.json").unlink(missing_ok=True)
    (folder / "error").unlink(missing_ok=True)
    with (folder / "supervisor.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "capture_site.embedded.supervise", str(folder)],
            cwd=_CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _wait(lambda: _state(folder) is not None or process.poll() is not None, deadline, folder)
    stack = _proven(folder)
    if stack is None:
        raise EmbeddedError(_complaint(folder))
    process.returncode = 0  # it outlives us on purpose: no warning about a child that still runs
    return stack


def _proven(folder: Path) -> Stack | None:
    """The stack that is written down, if its three servers answer."""
    state = _state(folder)
    if state is None:
        return None
    sockets = [Path(state[name].removeprefix("unix://")) for name in ("buffer_url", "cache_url")]
    if not (all(map(redis_answers, sockets)) and postgres_answers(Path(state["run"]))):
        raise EmbeddedError(f"the embedded servers of {folder} run and do not answer: end them and try again")
    return Stack(state["database_url"], state["buffer_url"], state["cache_url"], **_secrets(folder))


def _secrets(folder: Path) -> dict[str, str]:
    """Made once for this folder, readable for its owner alone."""
    file = folder / "secrets.json"
    if not file.exists():
        made = {"secret_key": secrets.token_urlsafe(48), "service_key": secrets.token_urlsafe(32)}
        half = folder / "secrets.json.new"
        half.touch(mode=0o600)
        half.write_text(json.dumps(made))
        half.replace(file)
    found: dict[str, str] = json.loads(file.read_text())
    return found


def _state(folder: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((folder / "state.json").read_text())
    except FileNotFoundError:
        return None
    return found


def _is_supervised(folder: Path) -> bool:
    """A supervisor holds its own lock as long as it lives, however it dies."""
    with (folder / "supervisor.lock").open("a") as own:
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _complaint(folder: Path) -> str:
    try:
        said = (folder / "error").read_text()
    except FileNotFoundError:
        return f"the embedded servers did not start; {folder / 'supervisor.log'} says more"
    return said or f"the embedded servers could write nothing into {folder}: is its disk full?"


def _lock(descriptor: int, kind: int, deadline: float, folder: Path) -> None:
    def take() -> bool:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    _wait(take, deadline, folder)


def _wait(ready: Callable[[], bool], deadline: float, folder: Path) -> None:
    while not ready():
        if time.monotonic() > deadline:
            raise EmbeddedError(
                f"the embedded servers of {folder} were not ready within {ATTACH_SECONDS:.0f} s"
            )
        time.sleep(0.02)
