"""Whether an event is one that every reader can work with: it comes from anywhere, or has lain for years."""

import datetime
from collections.abc import Iterable

from capture.limits import ID_LENGTH, RUN_BODY_DEPTH
from capture.soundness import check_time
from capture_sdk.errors import IdError, RecordError
from capture_sdk.freeze import unpack
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.runs.records import RunEvent


def check_event(event: RunEvent) -> None:
    """Look at every field. Raises RecordError, naming it, for anything that a reader would stumble over."""
    _check_name("kind", event.kind)
    _check_name("writer", event.writer)
    if event.at.tzinfo is not datetime.UTC:  # a run has thousands, nearly all of them in UTC
        check_time(event.at)
    try:
        checked_index("sequence", event.sequence)
        if event.parent_id is not None:
            checked_id("parentId", event.parent_id)
    except IdError as exc:
        raise RecordError(str(exc)) from exc
    if event.policy is not None and not isinstance(event.policy, str):
        raise RecordError("policy must be text")
    _check_counts("losses", event.losses)
    _check_counts("redactions", event.redactions)
    _check_body(event.body)


def _check_name(name: str, value: object) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= ID_LENGTH:
        raise RecordError(f"{name} must be text of 1 to {ID_LENGTH} characters, not {str(value)[:40]!r}")


def _check_counts(name: str, counts: object) -> None:
    if not isinstance(counts, dict):
        raise RecordError(f"{name} must be a map of words and counts")
    for word, count in counts.items():
        if not isinstance(word, str) or type(count) is not int or count < 0:
            raise RecordError(f"{name} must be a map of words and counts, and {str(word)[:40]!r} has none")


def _check_body(packed: bytes) -> None:
    try:
        found = unpack(packed)
    except ValueError as exc:
        raise RecordError("body is no packed map") from exc
    if not isinstance(found, dict):
        raise RecordError(f"body must be a map, not {type(found).__name__}")
    if len(packed) > RUN_BODY_DEPTH and _is_deep(found):  # a floor takes a byte at least
        raise RecordError(f"body has more than {RUN_BODY_DEPTH} floors")


def _is_deep(value: object) -> bool:
    """Whether a reader that goes down floor by floor would not come back."""
    floor = [value]
    for _ in range(RUN_BODY_DEPTH):
        floor = [child for each in floor for child in _children(each) if isinstance(child, list | dict)]
        if not floor:
            return False
    return True


def _children(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
