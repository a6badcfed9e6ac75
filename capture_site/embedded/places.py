"""Where the embedded servers keep what is theirs, and as whom they run.

Everything lies in one folder. Two things can force a part of it elsewhere, into a private folder of the
system's temporary directory whose name is derived from the folder's path: a socket path has at most 107
bytes, and PostgreSQL refuses to run as root, so that as root it runs as ``nobody``, who may not be able
to reach the checkout. Permissions of folders above ours are never touched.
"""

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from capture_site.embedded.binaries import postgres_prefix
from capture_site.embedded.errors import EmbeddedError

SOCKET_PATH_MAX: Final = 107  # sun_path of sockaddr_un, without its closing NUL
POSTGRES_SOCKET: Final = ".s.PGSQL.5432"
# Leaves room for /capture-data-<uid>-<hash>/run/ and the socket's name.
_TEMPORARY_ROOT_MAX: Final = 52


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one stack, all of them existing and private.

    ``folder`` is what the user named; ``data`` is where PostgreSQL's files go, ``run`` where sockets go,
    ``postgres`` its installation; ``server_user`` is whom PostgreSQL runs as, None for ourselves.
    """

    folder: Path
    data: Path
    run: Path
    postgres: Path
    server_user: pwd.struct_passwd | None

    @property
    def database_url(self) -> str:
        """The URL of the database, over the unix socket."""
        return f"postgresql://postgres@/capture?host={self.run}"

    @property
    def buffer_socket(self) -> Path:
        """The buffer's socket."""
        return self.run / "buffer.sock"

    @property
    def cache_socket(self) -> Path:
        """The cache's socket."""
        return self.run / "cache.sock"


def claim(folder: Path) -> None:
    """Make the folder, or take it if it is ours. Raises EmbeddedError, or OSError where it cannot be used."""
    folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
    owner = folder.stat().st_uid
    (folder / "start.lock").touch()
    if owner != os.geteuid():
        raise EmbeddedError(
            f"the folder {folder} belongs to another user: set CAPTURE_EMBEDDED_DIR to one of your own"
        )


def prepare(folder: Path) -> Places:
    """Decide where everything goes and make the folders. Raises EmbeddedError."""
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    prefix = postgres_prefix()
    base = folder
    if user is not None and not _can_reach(folder, user):
        base = _private_temporary(folder, "data", user)
    if user is not None and not _can_reach(prefix / "bin" / "postgres", user):
        prefix = _copied(prefix, base / "pgsql")
    return Places(
        folder=folder,
        data=_private(base / "data", user),
        run=_run_folder(base, user),
        postgres=prefix,
        server_user=user,
    )


def _run_folder(base: Path, user: pwd.struct_passwd | None) -> Path:
    run = base / "run"
    if len(os.fsencode(run / POSTGRES_SOCKET)) > SOCKET_PATH_MAX:
        run = _private_temporary(base, "run", user) / "s"
    return _private(run, user)


def _private(folder: Path, user: pwd.struct_passwd | None) -> Path:
    """A folder for its user alone. One that somebody else made first is refused, not used."""
    folder.mkdir(mode=0o700, exist_ok=True)
    wanted = user.pw_uid if user is not None else os.geteuid()
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (wanted, os.geteuid()):
        raise EmbeddedError(f"{folder} belongs to another user: remove it, or set CAPTURE_EMBEDDED_DIR")
    if user is not None and found.st_uid != wanted:
        os.chown(folder, user.pw_uid, user.pw_gid, follow_symlinks=False)
    return folder


def _private_temporary(folder: Path, kind: str, user: pwd.struct_passwd | None) -> Path:
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    made = _temporary_root(user) / f"capture-{kind}-{os.geteuid()}-{name}"
    _note_elsewhere(folder, made)
    made.mkdir(mode=0o700, exist_ok=True)
    found = made.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise EmbeddedError(f"{made} belongs to another user: remove it, or set CAPTURE_EMBEDDED_DIR")
    made.chmod(0o700 if user is None else 0o711)
    return made


def _temporary_root(user: pwd.struct_passwd | None) -> Path:
    """The system's temporary directory, unless it is one session's own: too deep, or closed to the user."""
    for root in map(Path, (tempfile.gettempdir(), "/tmp", "/var/tmp")):  # noqa: S108 - ours inside is private
        is_short = len(os.fsencode(root)) <= _TEMPORARY_ROOT_MAX
        if is_short and os.access(root, os.W_OK | os.X_OK) and (user is None or _can_reach(root, user)):
            return root
    raise EmbeddedError("no temporary folder is short and open to every user: set TMPDIR to one that is")


def _note_elsewhere(folder: Path, made: Path) -> None:
    """Write down what lies outside, so that whoever removes the folder can remove that too."""
    note = folder / "elsewhere"
    known = note.read_text().splitlines() if note.exists() else []
    if folder.is_dir() and str(made) not in known:
        note.write_text("\n".join([*known, str(made), ""]))


def _can_reach(path: Path, user: pwd.struct_passwd) -> bool:
    """Whether the user may pass through every folder down to ``path``, and enter or execute it."""
    for each in (path, *path.parents):
        found = each.stat()
        bit = stat.S_IXUSR if found.st_uid == user.pw_uid else stat.S_IXOTH
        if not found.st_mode & bit:
            return False
    return True


def _copied(prefix: Path, target: Path) -> Path:
    """A copy that the server user can execute; libraries keep their place relative to the binaries."""
    package = target / prefix.parent.name
    copy = package / prefix.name
    if not (target / "complete").exists():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(prefix, copy, symlinks=True)
        libraries = prefix.parent.with_suffix(".libs")
        if libraries.is_dir():
            shutil.copytree(libraries, target / libraries.name)
        _open_for_reading(target)
        (target / "complete").touch()
    return copy


def _open_for_reading(tree: Path) -> None:
    """Our umask closes the folders above the copy, a strict one at set-up all of it: open them."""
    for each in (tree, *tree.rglob("*")):
        if not each.is_symlink():
            mode = each.stat().st_mode
            each.chmod(mode | (0o555 if mode & stat.S_IXUSR else 0o444))
