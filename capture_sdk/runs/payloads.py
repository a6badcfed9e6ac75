"""What becomes an artifact: plain JSON of a value, or the very bytes of a text; and what a body holds in its place."""

import hashlib
import json
from typing import Any, Final

from capture_sdk.freeze import jsonable
from capture_sdk.prompt import text_bytes
from capture_sdk.runs.records import ARTIFACT, Artifact

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
EVENTS: Final = "text/event-stream"
TEXT: Final = "text/plain"
BYTES: Final = "application/octet-stream"
PACKED: Final = "application/msgpack"

_FIELDS_OF: Final = frozenset({"$dataclass", "$pydantic", "$attrs", "$namedtuple"})
_LISTS: Final = frozenset({"$tuple", "$set", "$frozenset"})
_LAST_OF: Final = frozenset({"$enum", "$subclass", "$numpy"})
_LONGEST_PARSED: Final = 4 * 1024 * 1024  # a longer text is called text: parsing is only to name its type


def plain(value: object) -> object:
    """A thawed value without the forms for which JSON has an equal: an SDK's object as it would write itself."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((form, held),) = value.items()
        if form in _FIELDS_OF and isinstance(held, list) and len(held) == 2:
            return plain(held[1])
        if form in _LISTS and isinstance(held, list):
            return plain(held)
        if form in _LAST_OF and isinstance(held, list) and held:
            return plain(held[-1])
    return {key: plain(item) for key, item in value.items()}


def escaped(value: object) -> object:
    """A recorded map that looks like a reference to an artifact, in a form that does not."""
    if isinstance(value, list):
        return [escaped(item) for item in value]
    if not isinstance(value, dict):
        return value
    if ARTIFACT in value:
        return {"$dict": [[key, escaped(item)] for key, item in value.items()]}
    return {key: escaped(item) for key, item in value.items()}


def artifact_of(value: object, media_type: str | None = None) -> Artifact:
    """A value as bytes under their sha256. A text stays as it is; anything else becomes JSON."""
    if isinstance(value, str | bytes):
        data = text_bytes(value)
        media_type = media_type or _media_type(value, data)
    else:
        data, media_type = json_bytes(value), media_type or JSON
    return Artifact(hashlib.sha256(data).hexdigest(), data, media_type)


def json_bytes(value: object) -> bytes:
    """Compact JSON in UTF-8, every character as it is; half a surrogate pair is escaped, for UTF-8 has none."""
    strict = jsonable(value)
    try:
        return json.dumps(strict, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(strict, separators=(",", ":")).encode()


def is_mark(value: object) -> bool:
    """Whether it stands for a value that is not here: cut, withheld, or put apart."""
    return (
        isinstance(value, dict)
        and len(value) == 1
        and next(iter(value)) in ("$cut", "$withheld", "$metadata")
    )


def parsed(text: str | bytes) -> Any:
    """The JSON container that a text is, or None."""
    if len(text) > _LONGEST_PARSED or text.lstrip()[:1] not in ("{", "[", b"{", b"["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _media_type(value: str | bytes, data: bytes) -> str:
    if parsed(value) is not None:
        return JSON
    if data.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        return EVENTS
    if data[:1] == b"{" and parsed(data.partition(b"\n")[0]) is not None:
        return LINES
    return TEXT if isinstance(value, str) else BYTES
