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
    {"$subclass": [class, value]}           a subclass of a plain type, by its plain content
    {"$object": class}                      a stand-in: nothing of the object was called or read
    {"$cut": reason}                        left out: "cycle", "depth", "nodes", "size", "changed", "refused"

In JSON two more appear: ``{"$bytes": base64}`` and ``{"$float": "nan" | "inf" | "-inf"}``. Sets are
sorted by their packed form, so equal values freeze to equal bytes.
"""

import base64
import datetime
import decimal
import enum
import math
import pathlib
import re
import types
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

import ormsgpack

MAX_DEPTH: Final = 64  # a tree deeper than this is a fault, and the readers recurse too
MAX_NODES: Final = 100_000  # bounds the slow path to about 100 ms
MAX_BYTES: Final = 16 * 1024 * 1024  # one value larger than this would crowd out everything else

_OPTIONS: Final = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_EXT_INT: Final = 1  # an integer beyond 64 bits: signed big-endian bytes
_EXT_STR: Final = 2  # a string with half surrogates: UTF-8 with surrogatepass
# A map of one entry (0x81) whose key starts with "$": the user's own value may look like a form.
_LOOKS_LIKE_FORM = re.compile(rb"\x81(?:[\xa1-\xbf]|\xd9.|\xda..|\xdb....)\$", re.DOTALL)
_DIGITS_PYTHON_PRINTS: Final = 4300  # beyond this, str(int) refuses (CVE-2020-10735)


def pack(value: object, *, limit: int = MAX_BYTES) -> bytes:
    """Freeze ``value`` into at most ``limit`` msgpack bytes. Never raises, never keeps a reference to it."""
    try:
        packed = ormsgpack.packb(value, None, _OPTIONS)
        if _LOOKS_LIKE_FORM.search(packed):
            packed = _pack_slowly(value)
    except (TypeError, ValueError, RecursionError):
        packed = _pack_slowly(value)
    if len(packed) > limit:
        return ormsgpack.packb({"$cut": f"size: {len(packed)} bytes"})
    return packed


def pack_items(items: Mapping[str, object]) -> bytes:
    """Freeze a mapping item by item, so that one strange value never slows or costs its neighbours."""
    if not all(map(_writable, items)):
        return pack(dict(items))
    parts = [_map_header(len(items))]
    for name, value in items.items():
        parts.append(pack(name))
        parts.append(pack(value))
    return b"".join(parts)


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
    if tag == _EXT_INT:
        return int.from_bytes(data, "big", signed=True)
    if tag == _EXT_STR:
        return data.decode("utf-8", "surrogatepass")
    raise ValueError(f"unknown extension {tag}")


def _pack_slowly(value: object) -> bytes:
    try:
        return ormsgpack.packb(_Freezer().plain(value, 0), None)
    except (TypeError, ValueError, RecursionError, RuntimeError) as exc:
        return ormsgpack.packb({"$cut": f"refused: {type(exc).__name__}"})


class _Freezer:
    """One walk over one value; knows where it is, so that cycles, depth and size are cut and marked."""

    def __init__(self) -> None:
        self._path: set[int] = set()
        self._nodes = 0

    def plain(self, value: Any, depth: int) -> object:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            return {"$cut": "nodes"}
        kind = type(value)
        if value is None or kind is bool or kind is float or kind is bytes:
            return value
        if kind is str:
            return _plain_str(str(value))
        if kind is int:
            return _plain_int(value)
        if depth >= MAX_DEPTH:
            return {"$cut": "depth"}
        return self._container(value, depth + 1)

    def _container(self, value: Any, depth: int) -> object:
        if id(value) in self._path:
            return {"$cut": "cycle"}
        self._path.add(id(value))
        try:
            return self._by_type(value, depth)
        except RuntimeError:  # another thread changed it while it was being copied
            return {"$cut": "changed"}
        finally:
            self._path.discard(id(value))

    def _by_type(self, value: Any, depth: int) -> object:
        form = _FORMS.get(type(value))
        if form is not None:
            return form(self, value, depth)
        # issubclass of the type, never isinstance: a lazy object evaluates itself when asked for __class__.
        kind = type(value)
        if issubclass(kind, enum.Enum):
            stored = _instance_dict(value)
            return {"$enum": [_name(value), stored.get("_name_"), self.plain(stored.get("_value_"), depth)]}
        if "__dataclass_fields__" in kind.__dict__:
            return {"$dataclass": [_name(value), self._attributes(value, depth)]}
        if issubclass(kind, BaseException):
            return {"$exception": [_name(value), self._list(_exception_args(value), depth)]}
        if issubclass(kind, pathlib.PurePath):
            return {"$path": _plain_str(pathlib.PurePath.__str__(value))}
        return self._subclass(value, depth)

    def _subclass(self, value: Any, depth: int) -> object:
        """A subclass is read through the plain type's own methods: an override is never called."""
        names = type(value).__dict__.get("_fields")
        if issubclass(type(value), tuple) and type(names) is tuple:
            pairs = zip(names, tuple.__iter__(value), strict=False)
            return {
                "$namedtuple": [_name(value), {str(name): self.plain(item, depth) for name, item in pairs}]
            }
        for base, copy in _PLAIN_BASES:
            if issubclass(type(value), base):
                return {"$subclass": [_name(value), self.plain(copy(value), depth)]}
        return {"$object": _name(value)}

    def _attributes(self, value: Any, depth: int) -> dict[str, object]:
        """Fields straight from the instance dict or from slots: no property and no default runs."""
        stored = dict(_instance_dict(value))
        for name in type(value).__dataclass_fields__:
            slot = type(value).__dict__.get(name)
            if name not in stored and type(slot) is types.MemberDescriptorType:
                stored[name] = slot.__get__(value)
        return {name: self.plain(item, depth) for name, item in stored.items()}

    def _list(self, value: Any, depth: int) -> list[object]:
        return [self.plain(item, depth) for item in list(value)]

    def _set(self, value: Any, depth: int) -> list[object]:
        return sorted(self._list(value, depth), key=lambda item: ormsgpack.packb(item, None))

    def _dict(self, value: Any, depth: int) -> object:
        items = list(dict.items(value))
        looks_like_form = len(items) == 1 and type(items[0][0]) is str and items[0][0].startswith("$")
        if looks_like_form or any(type(key) is not str or not _writable(key) for key, _ in items):
            return {"$dict": [[self.plain(key, depth), self.plain(item, depth)] for key, item in items]}
        return {key: self.plain(item, depth) for key, item in items}


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain_str(text: str) -> object:
    if _writable(text):
        return text
    return ormsgpack.Ext(_EXT_STR, text.encode("utf-8", "surrogatepass"))


def _plain_int(number: int) -> object:
    if -(2**63) <= number < 2**64:
        return number
    return ormsgpack.Ext(_EXT_INT, number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))


def _name(value: Any) -> str:
    module = type(value).__dict__.get("__module__") or type.__getattribute__(type(value), "__module__")
    return f"{module if type(module) is str else '?'}.{type(value).__qualname__}"


def _instance_dict(value: Any) -> dict[str, object]:
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return dict.copy(stored)


def _exception_args(value: Any) -> tuple[object, ...]:
    args: tuple[object, ...] = BaseException.__dict__["args"].__get__(value)
    return args


_Form = Callable[[_Freezer, Any, int], object]
_FORMS: Final[dict[type, _Form]] = {
    list: _Freezer._list,
    dict: _Freezer._dict,
    tuple: lambda walk, value, depth: {"$tuple": walk._list(value, depth)},
    set: lambda walk, value, depth: {"$set": walk._set(value, depth)},
    frozenset: lambda walk, value, depth: {"$frozenset": walk._set(value, depth)},
    bytearray: lambda walk, value, depth: {"$bytearray": bytes(value)},
    memoryview: lambda walk, value, depth: {"$bytearray": bytes(value)},
    decimal.Decimal: lambda walk, value, depth: {"$decimal": str(value)},
    uuid.UUID: lambda walk, value, depth: {"$uuid": str(value)},
    datetime.datetime: lambda walk, value, depth: {"$datetime": value.isoformat()},
    datetime.date: lambda walk, value, depth: {"$date": value.isoformat()},
    datetime.time: lambda walk, value, depth: {"$time": value.isoformat()},
    datetime.timedelta: lambda walk, value, depth: {
        "$timedelta": [value.days, value.seconds, value.microseconds]
    },
    complex: lambda walk, value, depth: {"$complex": [value.real, value.imag]},
    range: lambda walk, value, depth: {"$range": [value.start, value.stop, value.step]},
}
_PLAIN_BASES: Final[tuple[tuple[type, Callable[..., object]], ...]] = (
    (bool, bool),
    (int, int.__int__),
    (float, float.__float__),
    (str, lambda value: "".join(str.__iter__(value))),
    (bytes, lambda value: bytes.join(b"", [value])),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
)
