"""The items of a context inventory: what is said of each text, and how an annotation changes it."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from capture.limits import INVENTORY_PREVIEW
from capture.runs.inventory.found import Found, Kind, Visibility, exact_text, tool_lacks, tool_name
from capture.runs.pairing import Moment
from capture_sdk.runs.records import ARTIFACT

_NO_TOKENS: Final = {Kind.IMAGE, Kind.AUDIO, Kind.FILE}
_BYTES_A_TOKEN: Final = 4
_STEP: Final = re.compile(r"[.\[]")
_ALONE: Final = "annotated, and not found in a request at this path"


@dataclass(frozen=True, slots=True)
class Item:
    """One text of a request, or one annotation that no request has.

    ``bytes`` are those of its exact text in UTF-8, of which ``sha256`` is; None where an annotation gives no value.
    ``tokens_estimated`` is a quarter of them, rounded up: an estimate, never a count; None for what is no text.
    ``artifact`` has the request, ``annotations`` are the event ids of what was said of it, ``note`` what is odd,
    ``lacks`` which of description and schema a tool's definition does not have.
    """

    path: str
    kind: str
    role: str | None
    name: str | None
    bytes: int | None
    tokens_estimated: int | None
    sha256: str | None
    visibility: str
    preview: str
    call: str | None = None
    artifact: str | None = None
    provenance: str | None = None
    annotations: tuple[str, ...] = ()
    note: str | None = None
    lacks: tuple[str, ...] = ()


def item_of(found: Found, *, call: str | None, artifact: str | None) -> Item:
    """What is said of one value of a request."""
    size, sha256, preview = measured(found.value)
    return Item(
        path=found.path,
        kind=str(found.kind),
        role=found.role,
        name=found.name,
        bytes=size,
        tokens_estimated=_tokens(found.kind, size),
        sha256=sha256,
        visibility=str(found.visibility),
        preview=preview,
        call=call,
        artifact=artifact,
        note=found.note,
        lacks=found.lacks,
    )


def unread_item(data: bytes, note: str, *, call: str, artifact: str | None) -> Item:
    """A request that cannot be taken apart: one item, of its very bytes."""
    text = data[: 4 * INVENTORY_PREVIEW].decode("utf-8", "replace")[:INVENTORY_PREVIEW]
    sha256 = hashlib.sha256(data).hexdigest()
    found = Found("request", "", Kind.UNREAD, visibility=Visibility.MODEL, note=note)
    item = item_of(found, call=call, artifact=artifact)
    size = len(data)
    return replace(item, bytes=size, tokens_estimated=_tokens(item.kind, size), sha256=sha256, preview=text)


def annotated(
    items: Sequence[Item], aliases: Sequence[str | None], said: Sequence[Moment]
) -> tuple[list[Item], ...]:
    """The items with what annotations say of them, and by themselves the annotations that meet none."""
    if not said:
        return list(items), []
    changed, places, alone = list(items), _places(items, aliases), []
    for annotation in said:
        path = _plain_path(annotation)
        met = places.get(path, ())
        for number in met:
            if changed[number].path == path or changed[number].kind != Kind.SETTINGS or len(met) == 1:
                changed[number] = _with(changed[number], annotation, alone=len(met) == 1)
        if not met:
            alone.append(item_of_annotation(annotation))
    return changed, alone


def item_of_annotation(annotation: Moment) -> Item:
    """An annotation by itself: it tells of something that no request holds at its path."""
    fields = annotation.fields
    has_value = fields.get("value") is not None
    size, sha256, preview = measured(fields["value"]) if has_value else (None, None, "")
    kind = annotation.text("kind") or "annotation"
    tool = fields.get("value") if kind == Kind.TOOL_DEFINITION else None
    return Item(
        path=annotation.text("path") or "",
        kind=kind,
        role=None,
        name=tool_name(tool),
        bytes=size,
        tokens_estimated=None if size is None else _tokens(kind, size),
        sha256=sha256,
        visibility=annotation.text("visibility") or Visibility.UNKNOWN.value,
        preview=preview,
        call=annotation.text("call"),
        provenance=_provenance(fields),
        annotations=(annotation.event_id,),
        note=_ALONE,
        lacks=tool_lacks(tool) if tool is not None else (),
    )


def _with(item: Item, annotation: Moment, *, alone: bool) -> Item:
    """The annotation's word goes before the format's; a value that is another than the request's is said so."""
    fields = annotation.fields
    differs = alone and fields.get("value") is not None and measured(fields["value"])[1] != item.sha256
    return replace(
        item,
        kind=annotation.text("kind") or item.kind,
        visibility=annotation.text("visibility") or item.visibility,
        provenance=_provenance(fields) or item.provenance,
        annotations=(*item.annotations, annotation.event_id),
        note="the annotation's value is another than the request's" if differs else item.note,
    )


def _places(items: Iterable[Item], aliases: Iterable[str | None]) -> Mapping[str, list[int]]:
    """The items at a path, or beneath it."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, (item, alias) in enumerate(zip(items, aliases, strict=True)):
        paths = {path for each in (item.path, alias) if each for path in (each, *_above(each))}
        for path in paths:
            found[path].append(number)
    return found


def _above(path: str) -> list[str]:
    return [path[: step.start()] for step in _STEP.finditer(path) if step.start()]


def _plain_path(annotation: Moment) -> str:
    return (annotation.text("path") or "").removeprefix("$.").removeprefix("request.")


def _provenance(fields: Mapping[str, Any]) -> str | None:
    found = fields.get("provenance")
    return None if found is None else exact_text(found)


def measured(value: object) -> tuple[int, str, str]:
    """Bytes, sha256 and the beginning; those of an artifact, where one stands in its place."""
    if (
        isinstance(value, dict)
        and isinstance(value.get(ARTIFACT), str)
        and isinstance(value.get("bytes"), int)
    ):
        return value["bytes"], value[ARTIFACT], ""
    text = exact_text(value)
    data = text.encode("utf-8", "surrogatepass")
    return len(data), hashlib.sha256(data).hexdigest(), text[:INVENTORY_PREVIEW]


def _tokens(kind: str, size: int) -> int | None:
    return None if kind in _NO_TOKENS else -(-size // _BYTES_A_TOKEN)
