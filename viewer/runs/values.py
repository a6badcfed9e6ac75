"""What stands in an event's body, as a page shows it: a long value's beginning, an artifact by its name."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from capture.limits import RUN_SHOWN_FIELDS, RUN_SHOWN_VALUE
from capture_sdk.freeze import jsonable
from capture_sdk.runs.records import ARTIFACT, artifact_refs
from viewer.present import Excerpt

_HINT = 80  # characters of a value that stand beside its name


@dataclass(frozen=True, slots=True)
class Ref:
    """An artifact to which an event refers; ``size`` and ``media_type`` are what the event says of it."""

    event_id: str
    sha256: str
    size: object
    media_type: object


@dataclass(frozen=True, slots=True)
class Value:
    """One field of an event: the artifact that it is, or its text; ``refs`` are artifacts within it."""

    event_id: str
    name: str
    hint: str
    artifact: Ref | None = None
    body: Excerpt | None = None
    refs: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Values:
    """The first fields of an event, and how many more it has."""

    event_id: str
    shown: tuple[Value, ...]
    left: int = 0


def values(event_id: str, fields: Mapping[str, Any], *, but: Iterable[str] = ()) -> Values:
    """An event's fields in their order, without those that are shown elsewhere."""
    named = [(name, value) for name, value in fields.items() if name not in set(but)]
    return Values(
        event_id,
        tuple(value_of(event_id, str(name), value) for name, value in named[:RUN_SHOWN_FIELDS]),
        max(len(named) - RUN_SHOWN_FIELDS, 0),
    )


def value_of(event_id: str, name: str, value: object) -> Value:
    """One field, bounded."""
    if isinstance(value, dict) and isinstance(value.get(ARTIFACT), str):
        return Value(event_id, name, "", artifact=ref_of(event_id, value))
    text = text_of(value)
    return Value(
        event_id,
        name,
        _hint(value, text),
        body=Excerpt(text[:RUN_SHOWN_VALUE], len(text)),
        refs=tuple(ref_of(event_id, ref) for ref in islice(artifact_refs(value), RUN_SHOWN_FIELDS)),
    )


def ref_of(event_id: str, ref: Mapping[str, Any]) -> Ref:
    """The reference as a page links to it."""
    return Ref(event_id, ref[ARTIFACT], ref.get("bytes"), ref.get("mediaType"))


def text_of(value: object) -> str:
    """A text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False, indent=2)


def _hint(value: object, text: str) -> str:
    if value is None:
        return "null: nothing"
    if value in ("", [], {}):
        return f"{json.dumps(value)} captured, empty"
    if isinstance(value, list):
        return f"{len(value)} item{'' if len(value) == 1 else 's'}"
    line = " ".join(text[: 4 * _HINT].split())
    return line if len(line) <= _HINT else line[: _HINT - 1] + "…"
