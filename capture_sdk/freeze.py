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
import datetime
import decimal
import enum
import math
import pathlib
import re
import sys
import time
import types
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

import ormsgpack

MAX_DEPTH: Final = 64  # a tree deeper than this is a fault, and the readers recurse too
MAX_NODES: Final = 100_000
MAX_SECONDS: Final = 0.1  # of the slow path; whatever is not copied by then is cut
MAX_FAST_ITEMS: Final = 200_000  # a longer collection takes the slow path, which can stop half-way
_LARGE: Final = 256 * 1024  # bytes of a copy that make the next look go deeper
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
    if not all(map(_writable, items)):
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
    return plain if isinstance(plain, str | int | float) else f"<{_name(value)}>"


def repack(value: object) -> bytes:
    """Pack what ``unpack`` gave, forms included, with no second escaping."""
    try:
        return ormsgpack.packb(value, None)
    except (TypeError, ValueError):  # a giant integer, or a string with half surrogates
        return ormsgpack.packb(_packable(value), None)


def _packable(value: object) -> object:
    match value:
        case str():
            return _plain_str(str.__str__(value))
        case bool():
            return value
        case int():
            return _plain_int(value)
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
    if tag == _EXT_INT:
        return int.from_bytes(data, "big", signed=True)
    if tag == _EXT_STR:
        return data.decode("utf-8", "surrogatepass")
    raise ValueError(f"unknown extension {tag}")


def pack_slowly(value: object) -> bytes:
    """Freeze node by node, bounded in nodes, depth, bytes and time."""
    try:
        return ormsgpack.packb(_Freezer().plain(value, 0), None)
    except (TypeError, ValueError, RecursionError, RuntimeError) as exc:
        return ormsgpack.packb({"$cut": f"refused: {type(exc).__name__}"})


class _Freezer:
    """One walk over one value; knows where it is, so that cycles, depth, size and time are cut and marked."""

    def __init__(self) -> None:
        self._path: set[int] = set()
        self._nodes = 0
        self._bytes = 0
        self._reason = "nodes"
        self._deadline = time.monotonic() + MAX_SECONDS

    def plain(self, value: Any, depth: int) -> object:
        self._nodes += 1
        if (cut := self._spent()) is not None:
            return {"$cut": cut}
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value
        if kind is str or kind is bytes:
            return self._text(value)
        if kind is int:
            return _plain_int(value)
        if depth >= MAX_DEPTH:
            return {"$cut": "depth"}
        return self._container(value, depth + 1)

    def _spent(self) -> str | None:
        """Which bound is reached, if any."""
        if self._nodes > MAX_NODES:
            return self._reason
        if self._nodes % 64 == 0 and time.monotonic() > self._deadline:
            self._nodes = MAX_NODES  # every node after this one is cut too
            self._reason = "time"
            return self._reason
        return None

    def _text(self, text: str | bytes) -> object:
        self._bytes += len(text)
        if self._bytes > MAX_BYTES:
            return {"$cut": f"size: {len(text)} {'characters' if isinstance(text, str) else 'bytes'}"}
        return _plain_str(text) if isinstance(text, str) else text

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
        for mark, form_name in _FIELDS_OF.items():
            if any(mark in base.__dict__ for base in kind.__mro__):
                return {form_name: [_name(value), self._attributes(value, depth)]}
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
        numpy = sys.modules.get("numpy")  # never imported here: without it there is no such value
        if numpy is not None and type(value) is numpy.ndarray:
            return self._ndarray(value, depth)
        if numpy is not None and issubclass(type(value), numpy.generic):
            return {"$numpy": [value.dtype.str, self.plain(value.item(), depth)]}
        for base, copy in _PLAIN_BASES:
            if issubclass(type(value), base):
                return {"$subclass": [_name(value), self.plain(copy(value), depth)]}
        return {"$object": _name(value)}

    def _attributes(self, value: Any, depth: int) -> dict[str, object]:
        """Fields straight from the instance dict or from slots: no property and no default runs."""
        stored = dict(_instance_dict(value))
        for base in reversed(type(value).__mro__):
            for name, slot in base.__dict__.items():
                if type(slot) is types.MemberDescriptorType and not name.startswith("__"):
                    try:
                        stored[name] = slot.__get__(value)
                    except AttributeError:
                        continue  # a slot that was never filled
        return {name: self.plain(item, depth) for name, item in stored.items()}

    def _ndarray(self, value: Any, depth: int) -> object:
        """An array's own C method gives its values; a large one keeps its type and shape alone."""
        shape = list(value.shape)
        if value.size > MAX_NODES // 4:
            return {"$ndarray": [value.dtype.str, shape, {"$cut": f"size: {value.nbytes} bytes"}]}
        return {"$ndarray": [value.dtype.str, shape, self.plain(value.tolist(), depth)]}

    def _list(self, value: Any, depth: int) -> list[object]:
        items = list(value)
        copied: list[object] = []
        for item in items:
            if self._nodes >= MAX_NODES:
                copied.append({"$cut": f"{self._reason}: {len(items) - len(copied)} more"})
                break
            copied.append(self.plain(item, depth))
        return copied

    def _set(self, value: Any, depth: int) -> list[object]:
        return sorted(self._list(value, depth), key=lambda item: ormsgpack.packb(item, None))

    def _dict(self, value: Any, depth: int) -> object:
        items = list(dict.items(value))
        if self._nodes + len(items) > MAX_NODES:
            items = [*items[: max(0, MAX_NODES - self._nodes)], ("$cut", f"{len(items)} entries")]
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


# The mark that a class of each kind carries, and the form of its instances.
_FIELDS_OF: Final = {
    "__dataclass_fields__": "$dataclass",
    "__pydantic_fields__": "$pydantic",
    "__attrs_attrs__": "$attrs",
}

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
