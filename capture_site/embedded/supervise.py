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
            return _serve(folder)
        except (EmbeddedError, OSError) as exc:
            (folder / "error").write_text(str(exc))
            return 1
        finally:
            (folder / "state.json").unlink(missing_ok=True)


def _serve(folder: Path) -> int:
    children: list[tuple[subprocess.Popen[bytes], signal.Signals]] = []
    try:
        places = prepare(folder)
        log, valkey = folder / "servers.log", valkey_binary()
        children.append((start_redis(valkey, places.buffer_socket, log, BUFFER), signal.SIGTERM))
        children.append((start_redis(valkey, places.cache_socket, log, CACHE), signal.SIGTERM))
        children.append((start_postgres(places, log), signal.SIGINT))
        _announce(places)
        _wait_for_the_last(folder, [process for process, _ in children])
    except _Stop:
        pass
    finally:
        for process, number in reversed(children):
            stop(process, number)
    return 0


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


def _wait_for_the_last(folder: Path, children: list["subprocess.Popen[bytes]"]) -> None:
    """Return when nobody has used the servers for a moment, or one of them has ended by itself."""
    with (folder / "users.lock").open("a") as users:
        free_since: float | None = None
        while all(child.poll() is None for child in children):
            time.sleep(LOOK_SECONDS)
            if not _take(users.fileno()):
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
