"""Secrets in what came in pieces: the chunks of a stream are put together, path by path, before they are searched.

A secret that a model wrote as ``sk-li`` and ``ve-…`` in two chunks stands in neither of them. It is marked in the
chunk where it begins and cut from those that follow; a chunk in which nothing was found stays byte for byte.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from capture_sdk.redact.redactor import Redactor

_LINE: Final = re.compile(rb"^(data:[ ]?)?([{\[].*?)(\r?)$", re.MULTILINE)
# What every chunk repeats: put together it would be no text that anybody wrote.
_REPEATED: Final = frozenset(
    "id model object type role status system_fingerprint finish_reason stop_reason service_tier item_id event_id "
    "response_id obfuscation created_at created".split()
)
_PLACES: Final = ("type", "index", "item_id", "output_index", "content_index", "choice_index")
_DEEPEST: Final = 24

# A text within a chunk: the container that holds it, and its key there.
_Leaf = tuple[Any, Any]


def redacted_bytes(data: bytes, redactor: Redactor) -> bytes:
    """The joined chunks of a stream of JSON: server-sent events, or one object a line."""
    lines: list[tuple[re.Match[bytes], Any]] = []
    for match in _LINE.finditer(data):
        try:
            lines.append((match, json.loads(match[2])))
        except (ValueError, RecursionError):
            continue
    changed = redact_chunks([chunk for _, chunk in lines], redactor)
    if not changed:
        return data
    parts, place = [], 0
    for number in sorted(changed):
        match, chunk = lines[number]
        said = json.dumps(chunk, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        parts += [data[place : match.start(2)], said]
        place = match.end(2)
    return b"".join([*parts, data[place:]])


def redact_chunks(chunks: Sequence[Any], redactor: Redactor) -> set[int]:
    """Redact thawed chunks, our own copies, where they stand; the places of those that changed."""
    texts: dict[tuple[object, ...], list[tuple[int, _Leaf]]] = {}
    for number, chunk in enumerate(chunks):
        for path, leaf in _leaves(chunk, _kind(chunk), 0):
            texts.setdefault(path, []).append((number, leaf))
    changed: set[int] = set()
    for leaves in texts.values():
        pieces = [holder[key] for _, (holder, key) in leaves]
        if len(pieces) < 2 or len(set(pieces)) == 1:
            continue
        kept = redactor.pieces(pieces)
        for (number, (holder, key)), before, after in zip(leaves, pieces, kept, strict=True):
            if before != after:
                holder[key] = after
                changed.add(number)
    return changed


def _kind(chunk: Any) -> tuple[object, ...]:
    """What tells the parts of a stream apart: two choices, or two tool calls, are two texts."""
    if not isinstance(chunk, dict):
        return ()
    return tuple(chunk[name] for name in _PLACES if isinstance(chunk.get(name), str | int))


def _leaves(value: Any, path: tuple[object, ...], depth: int) -> Iterator[tuple[tuple[object, ...], _Leaf]]:
    if depth > _DEEPEST:
        return
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in entries:
        if isinstance(item, str):
            if key not in _REPEATED:
                yield (*path, key), (value, key)
        elif isinstance(item, dict | list):
            place = item.get("index", key) if isinstance(item, dict) and isinstance(key, int) else key
            yield from _leaves(item, (*path, place if isinstance(place, str | int) else key), depth + 1)
