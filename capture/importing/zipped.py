"""Inspect's ``.eval``: a zip of JSON members, unfolded within bounds into what its ``.json`` log would hold."""

import io
import struct
import zipfile
import zlib
from typing import Any, Final

from capture.importing.errors import FileRefused
from capture.importing.reading import a_map, read_json, text_of
from capture.limits import IMPORT_MEMBERS, IMPORT_UNFOLDED_BYTES

_HEADERS: Final = ("header.json", "_journal/start.json")  # the second is all that an unfinished log has
_SAMPLES: Final = "samples/"
_ENTRY: Final = b"PK\x01\x02"  # begins each entry of a zip's directory
_UNREADABLE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


def unfold(data: bytes) -> dict[str, Any]:
    """The log: its header's fields, ``samples``, and every other member under ``members``. Raises FileRefused."""
    if data.count(_ENTRY) > IMPORT_MEMBERS:
        raise FileRefused(f"the archive has more than the {IMPORT_MEMBERS} members that an import accepts")
    held = {name: read_json(text_of(body), repr(name)) for name, body in _members(data).items()}
    header = next((name for name in _HEADERS if name in held), None)
    if header is None:
        raise FileRefused(f"the archive is no log: it holds no {_HEADERS[0]!r}")
    samples = [held[name] for name in held if name.startswith(_SAMPLES)]
    others = {name: value for name, value in held.items() if name != header and not name.startswith(_SAMPLES)}
    return {**a_map(held[header], repr(header)), "samples": samples, "members": others}


def _members(data: bytes) -> dict[str, bytes]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _UNREADABLE as exc:
        raise FileRefused("the archive is damaged or cut short: its directory cannot be read") from exc
    found: dict[str, bytes] = {}
    left = IMPORT_UNFOLDED_BYTES
    for info in archive.infolist():
        if info.filename in found:
            raise FileRefused(f"the archive names {info.filename!r} twice")
        if info.is_dir():
            continue
        if not info.filename.endswith(".json"):
            raise FileRefused(f"the archive is no log: {info.filename!r} is no JSON")
        found[info.filename] = _member(archive, info, left)
        left -= len(found[info.filename])
    return found


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, left: int) -> bytes:
    try:
        with archive.open(info) as member:
            body = member.read(left + 1)
            is_whole = len(body) > left or not member.read(1)
    except _UNREADABLE as exc:
        raise FileRefused(f"{info.filename!r} in the archive is damaged or cannot be read") from exc
    if len(body) > left or not is_whole:
        raise FileRefused(
            f"the archive unfolds to more than the {IMPORT_UNFOLDED_BYTES} bytes that an import accepts"
        )
    return body
