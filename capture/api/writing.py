"""From shapes to strict JSON, at every size.

A hand may be megabytes, so it goes through a fast encoder where that loses nothing. What it cannot write it refuses
(half surrogates, giant integers, bytes, towers of lists), and then the careful one writes. What it would change
without a word, numbers that are not finite, is looked for beforehand.
"""

import json
import math
from collections.abc import Iterator
from typing import Final

import orjson

from capture.merge import HandView
from capture_sdk.freeze import jsonable
from capture_sdk.records import TurnRecord

# How msgpack's floats begin when every bit of their exponent is set, or nearly: a few finite ones cost a detour.
_PERHAPS_INFINITE: Final = (b"\xcb\x7f", b"\xcb\xff", b"\xca\x7f", b"\xca\xff")


def dumps(shape: object) -> bytes:
    """Strict JSON, whatever the shape holds."""
    try:
        text = json.dumps(shape, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # bytes, NaN, a giant integer, a tower of lists
        text = json.dumps(jsonable(shape), allow_nan=False)
    return text.encode()


def dumps_of(view: HandView, shape: object) -> bytes:
    """The same for what was made of a hand, fast where every number in it is finite."""
    if not only_finite(view):
        return dumps(shape)
    try:
        return orjson.dumps(shape)
    except TypeError:
        return dumps(shape)


def only_finite(view: HandView) -> bool:
    """Whether no number that was recorded of the hand is NaN or infinite; may say no where there is none."""
    records = [turn.record for turn in view.turns if turn.record is not None]
    charges = [*view.fallbacks, *(each.charge for each in view.missing)]
    frozen = [part for record in records for part in _frozen(record)] + [each.usage for each in charges]
    if any(mark in part for part in frozen if part is not None for mark in _PERHAPS_INFINITE):
        return False
    recorded = (value for record in records for value in _plain(record))
    return all(_is_finite(each.amount) for each in charges) and all(map(_is_finite, recorded))


def _frozen(record: TurnRecord) -> tuple[bytes | None, ...]:
    return record.knowledge, record.decision, record.unsent, record.usage


def _plain(record: TurnRecord) -> Iterator[object]:
    yield from (record.action, record.amount, record.cost_micros, record.latency_ms)
    for step in record.adjustments:
        yield from (step.rule, step.before, step.after)
    for attempt in record.attempts:
        yield from (attempt.status, attempt.latency_ms)


def _is_finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return all(map(_is_finite, value)) if isinstance(value, list | tuple) else True
