"""The slow path of freezing: any value, node by node, in the forms that ``freeze`` documents.

Bounded in nodes, depth, bytes and time, with every cut marked. Nothing is asked of an object that could run code of
its own: types are read, never instances; stored fields, never properties.
"""

import datetime
import decimal
import enum
import pathlib
import sys
import time
import types
import uuid
from collections.abc import Callable
from typing import Any, Final

import ormsgpack

MAX_DEPTH: Final = 64  # a tree deeper than this is a fault, and the readers recurse too
MAX_NODES: Final = 100_000
MAX_SECONDS: Final = 0.1  # whatever is not copied by then is cut
MAX_BYTES: Final = 16 * 1024 * 1024  # one value larger than this would crowd out everything else
EXT_INT: Final = 1  # an integer beyond 64 bits: signed big-endian bytes
EXT_STR: Final = 2  # a string with half surrogates: UTF-8 with surrogatepass


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
            return plain_int(value)
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
        return plain_str(text) if isinstance(text, str) else text

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
            return {
                "$enum": [class_name(value), stored.get("_name_"), self.plain(stored.get("_value_"), depth)]
            }
        for mark, form_name in _FIELDS_OF.items():
            if any(mark in base.__dict__ for base in kind.__mro__):
                return {form_name: [class_name(value), self._attributes(value, depth)]}
        if issubclass(kind, BaseException):
            return {"$exception": [class_name(value), self._list(_exception_args(value), depth)]}
        if issubclass(kind, pathlib.PurePath):
            return {"$path": plain_str(pathlib.PurePath.__str__(value))}
        return self._subclass(value, depth)

    def _subclass(self, value: Any, depth: int) -> object:
        """A subclass is read through the plain type's own methods: an override is never called."""
        names = type(value).__dict__.get("_fields")
        if issubclass(type(value), tuple) and type(names) is tuple:
            pairs = zip(names, tuple.__iter__(value), strict=False)
            return {
                "$namedtuple": [
                    class_name(value),
                    {str(name): self.plain(item, depth) for name, item in pairs},
                ]
            }
        numpy = sys.modules.get("numpy")  # never imported here: without it there is no such value
        if numpy is not None and type(value) is numpy.ndarray:
            return self._ndarray(value, depth)
        if numpy is not None and issubclass(type(value), numpy.generic):
            return {"$numpy": [value.dtype.str, self.plain(value.item(), depth)]}
        for base, copy in _PLAIN_BASES:
            if issubclass(type(value), base):
                return {"$subclass": [class_name(value), self.plain(copy(value), depth)]}
        return {"$object": class_name(value)}

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
        if looks_like_form or any(type(key) is not str or not is_writable(key) for key, _ in items):
            return {"$dict": [[self.plain(key, depth), self.plain(item, depth)] for key, item in items]}
        return {key: self.plain(item, depth) for key, item in items}


def is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_str(text: str) -> object:
    if is_writable(text):
        return text
    return ormsgpack.Ext(EXT_STR, text.encode("utf-8", "surrogatepass"))


def plain_int(number: int) -> object:
    if -(2**63) <= number < 2**64:
        return number
    return ormsgpack.Ext(EXT_INT, number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))


def class_name(value: Any) -> str:
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
