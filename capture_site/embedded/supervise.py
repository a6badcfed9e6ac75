"""The supervisor: parent of the servers, alive as long as anybody uses them.

Every user holds a shared lock on ``users.lock``, which the kernel releases however the user ends. When the
supervisor gets that lock for itself, nobody is left, and it stops the servers. It waits a moment first, so
that one command right after another shares them.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

from capture_site.embedded.binaries import valkey_binary
from capture_site.embedded.errors import EmbeddedError
from capture_site.embedded.places import Places, prepare
from capture_site.embedded.servers import BUFFER, CACHE, start_postgres, start_redis, stop

LOOK_SECONDS: Final = 0.2
GRACE_SECONDS: Final = 1.5


class _Stop(Exception):
    """Somebody asked the supervisor itself to end."""


def supervise(folder: Path) -> int:
    """Run the servers of ``folder`` until nobody uses them; give 1 when they could not start."""
    signal.signal(signal.SIGTERM, _on_signal)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the users, not for us
    with (folder / "supervisor.lock").open("w") as own:
        fcntl.flock(own, fcntl.LOCK_EX)
        try:
            with (folder / "users.lock").open("a") as users:
                _serve(folder, users.fileno())
        except EmbeddedError as exc:
            return _complain(folder, str(exc))
        except OSError as exc:
            where = f": {exc.filename}" if exc.filename else ""
            return _complain(folder, f"the embedded servers could not be started ({exc.strerror}{where})")
    return 0


def _serve(folder: Path, users: int) -> None:
    """Run the servers; ``users`` is an open ``users.lock``, held on return where nobody is left.

    The caller closes it, after the servers are down: who comes in between waits, and starts new ones.
    """
    children: list[tuple[subprocess.Popen[bytes], signal.Signals]] = []
    try:
        places = prepare(folder)
        log, valkey = folder / "servers.log", valkey_binary()
        children.append((start_redis(valkey, places.buffer_socket, log, BUFFER), signal.SIGTERM))
        children.append((start_redis(valkey, places.cache_socket, log, CACHE), signal.SIGTERM))
        children.append((start_postgres(places, log), signal.SIGINT))
        _announce(places)
        _wait_for_the_last(users, [process for process, _ in children])
    except _Stop:
        pass
    finally:
        # Before the servers go, so that nobody is sent to one on its way out.
        (folder / "state.json").unlink(missing_ok=True)
        for process, number in reversed(children):
            stop(process, number)


def _complain(folder: Path, reason: str) -> int:
    """Leave the reason for whoever is waiting; on a full disk it stays empty, which they understand."""
    with suppress(OSError):
        (folder / "error").write_text(reason)
    return 1


def _announce(places: Places) -> None:
    """Write down where the servers are, whole or not at all."""
    state = {
        "database_url": places.database_url,
        "buffer_url": f"unix://{places.buffer_socket}",
        "cache_url": f"unix://{places.cache_socket}",
        "run": str(places.run),
    }
    half = places.folder / "state.json.new"
    half.write_text(json.dumps(state))
    half.replace(places.folder / "state.json")


def _wait_for_the_last(users: int, children: list["subprocess.Popen[bytes]"]) -> None:
    """Return when nobody has used the servers for a moment, or one of them has ended by itself."""
    free_since: float | None = None
    while all(child.poll() is None for child in children):
        time.sleep(LOOK_SECONDS)
        if not _take(users):
            free_since = None
            continue
        free_since = free_since or time.monotonic()
        if time.monotonic() - free_since >= GRACE_SECONDS:
            return  # still holding the lock: whoever comes now waits until the servers are down
        fcntl.flock(users, fcntl.LOCK_UN)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _on_signal(number: int, frame: FrameType | None) -> None:
    raise _Stop


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(supervise(Path(sys.argv[1])))
