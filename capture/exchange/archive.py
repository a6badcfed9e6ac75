"""The zip around an exported hand: stored members, no times, one order, so that the same content is the same bytes.

Members are never compressed. Records are compressed already, and where nothing can unfold, a file takes no more memory
than it has bytes: a compressed member is refused unread. So are entries that overlap, are encrypted or named twice.
"""

import contextlib
import hashlib
import os
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from capture.exchange.errors import ExchangeError
from capture.limits import EXPORT_DIRECTORY_BYTES, EXPORT_FILE_BYTES, EXPORT_MEMBER_BYTES, EXPORT_MEMBERS

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time that zip can write
_UNIX: Final = 3
_ENCRYPTED: Final = 0x1
_END: Final = struct.Struct("<4s4H2LH")  # the last record of a zip without a comment
_UNREADABLE: Final = (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, struct.error)


@dataclass(frozen=True, slots=True)
class Member:
    """One member of the archive, as the manifest knows it: name, sha256 in hex, size in bytes."""

    name: str
    sha256: str
    size: int


class ArchiveWriter:
    """Writes members in the order they come. A name that is there already is not written again."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=False)
        self._members: dict[str, Member] = {}
        self._size = 0

    def add(self, name: str, data: bytes, at_most: int = EXPORT_MEMBER_BYTES) -> Member:
        """Write one member. Raises ExchangeError when the file grows beyond what an import accepts."""
        if name in self._members:
            return self._members[name]
        self._size += len(data)
        is_full = (
            self._size > EXPORT_FILE_BYTES - EXPORT_DIRECTORY_BYTES or len(self._members) > EXPORT_MEMBERS
        )
        if is_full or len(data) > at_most:
            raise ExchangeError("the hand is too large for one file: export its agents apart, with --agent")
        info = zipfile.ZipInfo(name, _EPOCH)
        info.create_system, info.external_attr = _UNIX, 0o600 << 16
        self._zip.writestr(info, data)
        member = Member(name, hashlib.sha256(data).hexdigest(), len(data))
        self._members[name] = member
        return member

    def close(self) -> None:
        """Write the zip's directory."""
        self._zip.close()


class ArchiveReader:
    """Reads members of a file that may be hostile. Raises ExchangeError, whatever is wrong with it."""

    def __init__(self, file: IO[bytes]) -> None:
        _check_end(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except _UNREADABLE as exc:
            raise ExchangeError("the file's zip directory is damaged") from exc
        self._infos = {info.filename: info for info in self._zip.infolist()}
        _check_entries(self._zip.infolist(), file)

    @property
    def names(self) -> set[str]:
        """Every member's name."""
        return set(self._infos)

    def read(self, name: str, at_most: int = EXPORT_MEMBER_BYTES) -> bytes:
        """One member's bytes."""
        info = self._infos.get(name)
        if info is None:
            raise ExchangeError(f"the file holds no {name!r}, which its manifest names")
        if info.file_size > at_most:
            raise ExchangeError(f"{name!r} is larger than the {at_most} bytes that an import accepts")
        try:
            with self._zip.open(info) as member:
                return member.read(at_most + 1)
        except _UNREADABLE as exc:
            raise ExchangeError(f"{name!r} is damaged or cut short") from exc

    def checked(self, member: Member, at_most: int = EXPORT_MEMBER_BYTES) -> bytes:
        """One member's bytes, which are those that the manifest names."""
        data = self.read(member.name, at_most)
        if len(data) != member.size or hashlib.sha256(data).hexdigest() != member.sha256:
            raise ExchangeError(f"{member.name!r} is damaged: its sha256 is not the one in the manifest")
        return data


@contextlib.contextmanager
def placed(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name only when it is whole, readable by its owner alone."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def _check_end(file: IO[bytes]) -> None:
    """Look at the zip's last record before anything is built from it: its directory is read whole."""
    size = file.seek(0, os.SEEK_END)
    if size > EXPORT_FILE_BYTES:
        raise ExchangeError(f"the file is larger than the {EXPORT_FILE_BYTES} bytes that an import accepts")
    file.seek(0)
    if not file.read(4).startswith(b"PK"):
        raise ExchangeError("the file is no export of a hand: it is no zip archive")
    file.seek(max(0, size - _END.size))
    last = file.read()
    if len(last) < _END.size or not last.startswith(b"PK\x05\x06"):
        raise ExchangeError("the file is cut short, or something was added at its end")
    _, _, _, _, entries, directory, _, _ = _END.unpack(last)
    if entries > EXPORT_MEMBERS + 1 or directory > EXPORT_DIRECTORY_BYTES:
        raise ExchangeError(f"the file has more than the {EXPORT_MEMBERS} members that an import accepts")


def _check_entries(infos: list[zipfile.ZipInfo], file: IO[bytes]) -> None:
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ExchangeError(f"{info.filename!r} is compressed: an export stores its members as they are")
        if info.flag_bits & _ENCRYPTED:
            raise ExchangeError(f"{info.filename!r} is encrypted, which no export is")
    if len({info.filename for info in infos}) < len(infos):
        raise ExchangeError("the file names a member twice")
    if sum(info.file_size for info in infos) > file.seek(0, os.SEEK_END):
        raise ExchangeError("the file's members overlap")
