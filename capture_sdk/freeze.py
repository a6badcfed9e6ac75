"""What the agent knew, copied at an instant.

``pack`` turns any Python value into msgpack bytes and never raises; ``unpack`` gives it back;
``jsonable`` writes it as strict JSON. Plain values (None, bool, 64-bit int, float, str, bytes, list,
dict with string keys) go through a C encoder in one call that runs no Python code, so another thread
cannot change them half-way. Anything else takes the slow path, for that one value, where every type
JSON lacks has a documented form with a single key that starts with ``$``:

    {"$tuple": [..]}  {"$set": [..]}  {"$frozenset": [..]}  {"$bytearray": bytes}  {"$decimal": "1.10"}
    {"$uuid": ".."}  {"$datetime": iso}  {"$date": iso}  {"$time": iso}  {"$timedelta": [d, s, us]}
    {"$complex": [re, im]}  {"$range": [start, stop, step]}  {"$path": ".."}  {"$enum": [class, name, value]}
    {"$dict": [[key, value], ..]}           a dict with keys other than strings, or one that looks like a form
    {"$dataclass": [class, {..}]}  {"$namedtuple": [class, {..}]}  {"$exception": [class, [args]]}
    {"$pydantic": [class, {..}]}  {"$attrs": [class, {..}]}        their fields, as they stand in the instance
    {"$ndarray": [dtype, shape, values]}  {"$numpy": [dtype, value]}
    {"$subclass": [class, value]}           a subclass of a plain type, by its plain content
    {"$object": class}                      a stand-in: nothing of the object was called or read
    {"$cut": reason}                        left out: "cycle", "depth", "nodes", "size", "time", "changed", "refused"

In JSON two more appear: ``{"$bytes": base64}`` and ``{"$float": "nan" | "inf" | "-inf"}``. Sets are
sorted by their packed form, so equal values freeze to equal bytes.

The turn's thread pays for ``snapshot`` alone; ``settle`` gives a user's own ``{"$set": 1}`` its escaped
form later, on the delivery thread.
"""

import base64
import math
import re
from collections.abc import Mapping
from typing import Any, Final

import ormsgpack

from capture_sdk.forms import (
    EXT_INT,
    EXT_STR,
    MAX_BYTES,
    MAX_DEPTH,
    class_name,
    is_writable,
    pack_slowly,
    plain_int,
    plain_str,
)

MAX_FAST_ITEMS: Final = 200_000  # a longer collection takes the slow path, which can stop half-way
_LARGE: Final = 256 * 1024  # bytes of a copy that make the next look go deeper

_OPTIONS: Final = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_watches = False  # set once, by the first large value of this process
# A map of one entry (0x81) whose key starts with "$": the user's own value may look like a form.
_LOOKS_LIKE_FORM = re.compile(rb"\x81(?:[\xa1-\xbf]|\xd9.|\xda..|\xdb....)\$", re.DOTALL)
_DIGITS_PYTHON_PRINTS: Final = 4300  # beyond this, str(int) refuses (CVE-2020-10735)


def snapshot(value: object) -> tuple[bytes, bool]:
    """Copy ``value`` now, in one C call where it is plain. Never raises, never keeps a reference to it.

    Returns the copy and whether ``settle`` still has to look at it.
    """
    try:
        if not _watches or not _is_huge(value):
            packed = ormsgpack.packb(value, None, _OPTIONS)
            return (packed, True) if len(packed) < _LARGE else _large(value, packed)
    except (TypeError, ValueError, RecursionError, RuntimeError):
        pass  # something in it is not plain
    return pack_slowly(value), False


def snapshot_items(items: dict[str, object]) -> tuple[bytes, bool]:
    """As ``snapshot``, of a mapping; one strange value takes the slow path alone, without its neighbours."""
    try:
        if not _watches or not _is_huge(items):
            packed = ormsgpack.packb(items, None, _OPTIONS)
            return (packed, True) if len(packed) < _LARGE else _large(items, packed)
    except (TypeError, ValueError, RecursionError, RuntimeError):
        pass  # one of them is not plain: each is tried by itself
    return pack_items(items), False


def _large(value: object, packed: bytes) -> tuple[bytes, bool]:
    """The C encoder cannot be stopped half-way: from the first large value on, every value is looked at before.

    It copies some ten million values in 100 ms, so that first one costs no more than the slow path may.
    """
    global _watches
    _watches = True
    return (packed, True) if len(packed) <= MAX_BYTES else (pack_slowly(value), False)


def settle(packed: bytes, unsettled: bool, *, limit: int = MAX_BYTES) -> bytes:
    """Finish a snapshot: escape what only looks like a form, and cut what is larger than ``limit`` bytes."""
    if len(packed) > limit:
        return ormsgpack.packb({"$cut": f"size: {len(packed)} bytes"})
    if unsettled and _LOOKS_LIKE_FORM.search(packed):
        return pack_slowly(unpack(packed))
    return packed


def pack(value: object, *, limit: int = MAX_BYTES) -> bytes:
    """Freeze ``value`` into at most ``limit`` msgpack bytes. Never raises, never keeps a reference to it."""
    packed, unsettled = snapshot(value)
    return settle(packed, unsettled, limit=limit)


def pack_items(items: Mapping[str, object]) -> bytes:
    """Freeze a mapping item by item, so that one strange value never slows or costs its neighbours."""
    if not all(map(is_writable, items)):
        return pack(dict(items))
    parts = [_map_header(len(items))]
    for name, value in items.items():
        parts.append(pack(name))
        parts.append(pack(value))
    return b"".join(parts)


def scalar(value: object) -> Any:
    """A plain value for a field that holds one (a name, a number), whatever was given: never raises.

    What an enum, a Decimal, a numpy number or a subclass stands for; of anything else its class in brackets.
    """
    kind = type(value)
    if value is None or kind is str or kind is int or kind is float or kind is bool:
        return value
    plain = unpack(pack(value))
    if isinstance(plain, dict) and len(plain) == 1:
        ((form, held),) = plain.items()
        plain = held[-1] if form in ("$enum", "$subclass", "$numpy") and isinstance(held, list) else held
    return plain if isinstance(plain, str | int | float) else f"<{class_name(value)}>"


def repack(value: object) -> bytes:
    """Pack what ``unpack`` gave, forms included, with no second escaping."""
    try:
        return ormsgpack.packb(value, None)
    except (TypeError, ValueError):  # a giant integer, or a string with half surrogates
        return ormsgpack.packb(_packable(value), None)


def _packable(value: object) -> object:
    match value:
        case str():
            return plain_str(str.__str__(value))
        case bool():
            return value
        case int():
            return plain_int(value)
        case dict():
            return {key: _packable(item) for key, item in value.items()}
        case list() | tuple():
            return [_packable(item) for item in value]
        case _:
            return value


def _is_huge(value: object) -> bool:
    """Whether the C encoder would work for long: a few floors down, by type and length alone."""
    return _is_long(value) or _has_long(value, 4)


def _has_long(value: object, floors: int) -> bool:
    kind = type(value)
    if kind is dict:
        children: Any = value.values()  # type: ignore[attr-defined]
    elif kind is list:
        children = value
    else:
        return False
    for child in children:
        kind = type(child)
        if (kind is list or kind is dict) and len(child) > MAX_FAST_ITEMS:
            return True
        if (kind is str or kind is bytes) and len(child) > MAX_BYTES:
            return True
    return floors > 1 and any(_has_long(child, floors - 1) for child in children)


def _is_long(value: Any) -> bool:
    kind = type(value)
    if kind is list or kind is dict:
        return len(value) > MAX_FAST_ITEMS
    return (kind is str or kind is bytes) and len(value) > MAX_BYTES


def unpack(packed: bytes) -> object:
    """Give back what ``pack`` froze: plain values, and the ``$`` forms for the rest.

    Raises ValueError when the bytes are not msgpack.
    """
    return ormsgpack.unpackb(packed, ext_hook=_unpack_ext)


def jsonable(value: object) -> object:
    """Replace what strict JSON cannot hold (bytes, NaN, infinities, giant integers) by its ``$`` form."""
    return _jsonable(value, 0)


def _jsonable(value: object, depth: int) -> object:
    if depth > 4 * MAX_DEPTH:  # the C encoder nests deeper than a reader can follow
        return {"$cut": "depth"}
    match value:
        case dict():
            return {str(key): _jsonable(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_jsonable(item, depth + 1) for item in value]
        case bytes():
            return {"$bytes": base64.b64encode(value).decode("ascii")}
        case float() if not math.isfinite(value):
            return {"$float": str(value)}
        case int() if abs(value).bit_length() > 3 * _DIGITS_PYTHON_PRINTS:
            return {"$int": hex(value)}
        case _:
            return value


def _map_header(length: int) -> bytes:
    if length < 16:
        return bytes([0x80 | length])
    return b"\xdf" + length.to_bytes(4, "big")


def _unpack_ext(tag: int, data: bytes) -> object:
    if tag == EXT_INT:
        return int.from_bytes(data, "big", signed=True)
    if tag == EXT_STR:
        return data.decode("utf-8", "surrogatepass")
    raise ValueError(f"unknown extension {tag}")
