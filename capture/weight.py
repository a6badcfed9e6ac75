"""How many values msgpack bytes hold, counted without making any of them.

A few kilobytes of zstd unfold to 64 MB, and 64 MB of msgpack to gigabytes of empty lists. Whoever takes bytes from
anywhere counts first.
"""

from typing import Final

from capture.limits import FROZEN_VALUES, RECORD_VALUES
from capture_sdk.codec import Fields, fields_of
from capture_sdk.errors import RecordError

# What follows each head: so many bytes that state a length, and what it counts; or so many bytes of the value itself.
_STATED: Final = {
    0xC4: (1, 0),
    0xC5: (2, 0),
    0xC6: (4, 0),  # bytes
    0xC7: (1, 1),
    0xC8: (2, 1),
    0xC9: (4, 1),  # extensions, and their type
    0xD9: (1, 0),
    0xDA: (2, 0),
    0xDB: (4, 0),  # strings
}
_COLLECTIONS: Final = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}  # arrays, and maps of pairs
_FIXED: Final = {
    0xCA: 4,
    0xCB: 8,
    0xCC: 1,
    0xCD: 2,
    0xCE: 4,
    0xCF: 8,
    0xD0: 1,
    0xD1: 2,
    0xD2: 4,
    0xD3: 8,
    0xD4: 2,
    0xD5: 3,
    0xD6: 5,
    0xD7: 9,
    0xD8: 17,
}


def light_fields(content: bytes) -> Fields:
    """The map of a packed record that unfolds, each frozen part too, to no more values than there is memory for.

    Raises RecordError for what is too much, and for what is no record.
    """
    check_light("record", content, RECORD_VALUES)
    fields = fields_of(content)
    for name in ("knowledge", "decision", "unsent", "usage"):
        frozen = fields.get(name)
        if isinstance(frozen, bytes):
            check_light(name, frozen, FROZEN_VALUES)
    return fields


def count_values(packed: bytes, at_most: int) -> int:
    """The values in one packed value, itself included; counting ends behind ``at_most``. Raises RecordError."""
    place, count, left = 0, 0, 1
    try:
        while left and count <= at_most:
            head = packed[place]
            count, left = count + 1, left - 1
            size, inner = _size(packed, place + 1, head)
            place, left = place + 1 + size, left + inner
    except IndexError:
        raise RecordError("msgpack bytes end before their values do") from None
    return count


def check_light(name: str, packed: bytes, at_most: int) -> None:
    """Raise RecordError where packed bytes unfold to more values than that."""
    if len(packed) > at_most and count_values(packed, at_most) > at_most:  # a value takes a byte at least
        raise RecordError(f"its {name} has more than {at_most} values")


def _size(packed: bytes, place: int, head: int) -> tuple[int, int]:
    """How many bytes belong to the value behind its head, and how many values it holds."""
    if head < 0x80 or head >= 0xE0:
        return 0, 0
    if head < 0x90:
        return 0, 2 * (head & 0x0F)
    if head < 0xA0:
        return 0, head & 0x0F
    if head < 0xC0:
        return head & 0x1F, 0
    if head in _STATED:
        width, extra = _STATED[head]
        return width + _number(packed, place, width) + extra, 0
    if head in _COLLECTIONS:
        width, each = _COLLECTIONS[head]
        return width, each * _number(packed, place, width)
    return _FIXED.get(head, 0), 0


def _number(packed: bytes, place: int, width: int) -> int:
    return int.from_bytes(packed[place : place + width], "big")
