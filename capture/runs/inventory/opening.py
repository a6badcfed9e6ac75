"""A model call's request, opened: from its artifact or from the event itself, whatever of it is there."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from capture.runs.inventory.formats import format_of
from capture.runs.inventory.found import is_ref
from capture_sdk.runs.records import ARTIFACT

Read = Callable[[str], bytes | None]
_OPENING: Final = ("{", "[")


class RequestState(StrEnum):
    """What there is of a call's request."""

    LISTED = "listed"
    UNREAD = "unread"  # one item: it could not be taken apart
    NOTHING = "nothing"  # recorded as null
    NOT_CAPTURED = "not_captured"  # the call was recorded without one
    NOT_AVAILABLE = "not_available"  # its artifact is not there
    LEFT_OUT = "left_out"  # beyond what is taken apart at a time


@dataclass(frozen=True, slots=True)
class Room:
    """What may still be taken apart: items, and bytes of requests."""

    items: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A request as it can be read: ``body``, or its very ``data`` with the reason why it cannot be taken apart."""

    state: RequestState
    body: Any = None
    artifact: str | None = None
    data: bytes = b""
    reason: str = ""
    size: int = 0


def opened(fields: Mapping[str, Any], read: Read, room: Room) -> Opened:
    """A call's request; the map of its parameters stands for it where that is the request itself."""
    params = fields.get("params")
    if "request" in fields:
        value = fields["request"]
    elif isinstance(params, dict) and format_of(params) != "generic":
        value = params
    else:
        return Opened(RequestState.NOT_CAPTURED)
    if value is None:
        return Opened(RequestState.NOTHING)
    if room.items <= 0 or room.bytes <= 0:
        return Opened(RequestState.LEFT_OUT)
    if isinstance(value, dict) and is_ref(value):
        return _of_artifact(value, read, room)
    return Opened(RequestState.LISTED, _filled(_unwrapped(value), read, room))


def _of_artifact(ref: Mapping[str, Any], read: Read, room: Room) -> Opened:
    sha256 = ref[ARTIFACT]
    if ref["bytes"] > room.bytes:
        return Opened(RequestState.LEFT_OUT, artifact=sha256)
    data = read(sha256)
    if data is None:
        return Opened(RequestState.NOT_AVAILABLE, artifact=sha256)
    if len(data) > room.bytes:
        return Opened(RequestState.LEFT_OUT, artifact=sha256)
    return replace(_of_bytes(data, str(ref.get("mediaType") or "")), artifact=sha256, size=len(data))


def _of_bytes(data: bytes, media_type: str) -> Opened:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Opened(RequestState.UNREAD, data=data, reason="no UTF-8 text")
    if "json" not in media_type and not (not media_type and _looks_like_json(text)):
        return Opened(RequestState.LISTED, _unwrapped(text))
    try:
        return Opened(RequestState.LISTED, parsed(text))
    except (ValueError, RecursionError) as exc:
        return Opened(RequestState.UNREAD, data=data, reason=f"unparsable: {_why(exc)}")


def _unwrapped(value: object) -> object:
    """A text that is JSON is read as that; any other stays the text it is."""
    if not isinstance(value, str) or not _looks_like_json(value):
        return value
    try:
        return parsed(value)
    except (ValueError, RecursionError):
        return value


def _filled(body: object, read: Read, room: Room) -> object:
    """An inline request whose entries are artifacts, with those that are there in their place."""
    if not isinstance(body, dict) or not any(map(is_ref, body.values())):
        return body
    return {key: _entry(value, read, room) if is_ref(value) else value for key, value in body.items()}


def _entry(ref: Mapping[str, Any], read: Read, room: Room) -> object:
    opened = _of_artifact(ref, read, room)
    return opened.body if opened.state is RequestState.LISTED else ref


def parsed(text: str) -> Any:
    """Read JSON. Raises ValueError, for a key that stands twice too: one of its values would go unseen."""
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _why(exc: Exception) -> str:
    if isinstance(exc, json.JSONDecodeError):
        return f"no JSON from character {exc.pos} on"
    return "nested too deeply" if isinstance(exc, RecursionError) else str(exc)[:100]


def _looks_like_json(text: str) -> bool:
    return text.lstrip()[:1] in _OPENING
