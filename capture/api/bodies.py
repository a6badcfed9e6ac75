"""The body of a request: read once, bounded by us whatever its headers claim, also when it is compressed."""

import json
import zlib
from collections.abc import Callable, Iterator
from typing import Final

from django.http import HttpRequest

from capture.api.errors import BadEncoding, BadValue, TooLarge
from capture.limits import BATCH_BYTES, BATCH_ITEMS, BODY_CHUNK_BYTES
from capture_sdk.codec import FrameError, FrameReader

_GZIP: Final = 16 + zlib.MAX_WBITS


def read_json(request: HttpRequest, limit: int) -> dict[str, object]:
    """The JSON object in the body. Raises BadValue, BadEncoding or TooLarge."""
    body = read_body(request, limit)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise BadValue("the body is not JSON") from exc
    if not isinstance(found, dict):
        raise BadValue("the body must be a JSON object")
    return found


def read_items(request: HttpRequest, name: str) -> list[object]:
    """The list of items that a batch carries under ``name``. Raises as ``read_json``."""
    items = read_json(request, BATCH_BYTES).get(name)
    if not isinstance(items, list):
        raise BadValue(f"the body must hold a list under {name!r}", fields={name: "a list is needed"})
    if len(items) > BATCH_ITEMS:
        raise TooLarge(f"a batch holds at most {BATCH_ITEMS} items, not {len(items)}")
    return items


def read_body(request: HttpRequest, limit: int) -> bytearray:
    """The body's bytes, decompressed, at most ``limit`` of them. Raises BadEncoding, BadValue or TooLarge.

    They are gathered in one growing buffer: there is no moment at which they are in memory twice.
    """
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    pieces = _PIECES.get(encoding)
    if pieces is None:
        raise BadEncoding(f"the encoding {encoding[:40]!r} is not taken: {', '.join(_PIECES)} are")
    body = bytearray()
    for piece in pieces(request):
        if len(body) + len(piece) > limit:
            raise TooLarge(f"the body is larger than {limit} bytes")
        body += piece
    return body


def _plain(request: HttpRequest) -> Iterator[bytes]:
    """What arrived. A chunked body has no length, and Django takes it for empty: the server knows where it ends."""
    is_chunked = "CONTENT_LENGTH" not in request.META and request.META.get("wsgi.input_terminated")
    read = request.META["wsgi.input"].read if is_chunked else request.read
    try:
        while piece := read(BODY_CHUNK_BYTES):
            yield piece
    except OSError as exc:  # also what Django makes of it
        raise BadValue("the body ended before its length was reached") from exc


def _gunzipped(request: HttpRequest) -> Iterator[bytes]:
    """What a gzip body holds, piece by piece: a bomb is stopped at the limit, not after it."""
    inflater = zlib.decompressobj(_GZIP)
    try:
        for piece in _plain(request):
            yield inflater.decompress(piece, BODY_CHUNK_BYTES)
            while inflater.unconsumed_tail:
                yield inflater.decompress(inflater.unconsumed_tail, BODY_CHUNK_BYTES)
    except zlib.error as exc:
        raise BadValue("the body is not gzip, as its header says") from exc
    if not inflater.eof:
        raise BadValue("the gzip body is cut short")


def _unzstd(request: HttpRequest) -> Iterator[bytes]:
    """What a zstd body holds, piece by piece, in the same way."""
    frame = FrameReader()
    try:
        for piece in _plain(request):
            yield from frame.feed(piece, BODY_CHUNK_BYTES)
    except FrameError as exc:
        raise BadValue("the body is not zstd, as its header says") from exc
    if not frame.is_whole:
        raise BadValue("the zstd body is cut short")


_PIECES: Final[dict[str, Callable[[HttpRequest], Iterator[bytes]]]] = {
    "identity": _plain,
    "gzip": _gunzipped,
    "zstd": _unzstd,
}
ENCODINGS: Final = tuple(_PIECES)
