"""The body of a request: read once, bounded by us whatever its headers claim, also when it is compressed."""

import json
import zlib
from collections.abc import Iterator
from typing import Final

from django.http import HttpRequest

from capture.api.errors import BadEncoding, BadValue, TooLarge

MAX_COMMAND_BYTES: Final = 64 * 1024  # a command names a hand and an agent; anything larger is a mistake
MAX_BATCH_BYTES: Final = 64 * 1024 * 1024  # of JSON, decompressed: several prompts of 10 MB
MAX_BATCH_ITEMS: Final = 1_000  # keeps one batch within a request's time
_CHUNK: Final = 256 * 1024
_GZIP: Final = 16 + zlib.MAX_WBITS


def read_json(request: HttpRequest, limit: int) -> dict[str, object]:
    """The JSON object in the body. Raises BadValue, BadEncoding or TooLarge."""
    try:
        found = json.loads(read_body(request, limit))
    except (ValueError, RecursionError) as exc:
        raise BadValue("the body is not JSON") from exc
    if not isinstance(found, dict):
        raise BadValue("the body must be a JSON object")
    return found


def read_items(request: HttpRequest, name: str) -> list[object]:
    """The list of items that a batch carries under ``name``. Raises as ``read_json``."""
    items = read_json(request, MAX_BATCH_BYTES).get(name)
    if not isinstance(items, list):
        raise BadValue(f"the body must hold a list under {name!r}", fields={name: "a list is needed"})
    if len(items) > MAX_BATCH_ITEMS:
        raise TooLarge(f"a batch holds at most {MAX_BATCH_ITEMS} items, not {len(items)}")
    return items


def read_body(request: HttpRequest, limit: int) -> bytes:
    """The body's bytes, decompressed, at most ``limit`` of them. Raises BadEncoding, BadValue or TooLarge."""
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise BadEncoding(f"the encoding {encoding!r} is not taken: identity and gzip are")
    parts: list[bytes] = []
    size = 0
    for part in _plain(request) if encoding == "identity" else _unzipped(request):
        size += len(part)
        if size > limit:
            raise TooLarge(f"the body is larger than {limit} bytes")
        parts.append(part)
    return b"".join(parts)


def _plain(request: HttpRequest) -> Iterator[bytes]:
    while part := request.read(_CHUNK):
        yield part


def _unzipped(request: HttpRequest) -> Iterator[bytes]:
    """What a gzip body holds, piece by piece: a bomb is stopped at the limit, not after it."""
    inflater = zlib.decompressobj(_GZIP)
    try:
        for part in _plain(request):
            yield inflater.decompress(part, _CHUNK)
            while inflater.unconsumed_tail:
                yield inflater.decompress(inflater.unconsumed_tail, _CHUNK)
    except zlib.error as exc:
        raise BadValue("the body is not gzip, as its header says") from exc
    if not inflater.eof:
        raise BadValue("the gzip body is cut short")
