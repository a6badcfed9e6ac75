"""JSON as strangers write it, read strictly: whatever is wrong is refused with its place, and never a traceback."""

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from capture.importing.errors import FileRefused
from capture.limits import IMPORT_DEPTH, IMPORT_VALUES

_BOM: Final = b"\xef\xbb\xbf"


class NotJson(FileRefused):
    """A text that is no JSON, or only the beginning of it."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The records of a file with one JSON value a line, each with the number of its line, from 1.

    ``torn`` is the last line's number where it was cut in the middle: it is not among the records.
    """

    records: tuple[tuple[int, Any], ...]
    torn: int | None = None


def text_of(data: bytes) -> str:
    """A file's bytes as text. Raises FileRefused where they are not UTF-8."""
    try:
        return data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as exc:
        raise FileRefused(f"it is no text: byte {exc.start} is not UTF-8") from exc


def read_json(text: str, place: str = "") -> Any:
    """The one JSON value that a text is. Raises FileRefused, naming line and column."""
    try:
        return _checked(_DECODER.decode(text), place)
    except json.JSONDecodeError as exc:
        is_cut = exc.pos >= len(text.rstrip()) or exc.msg.startswith("Unterminated string")
        what = "is cut short" if is_cut else "is no JSON"
        raise NotJson(f"{place or 'it'} {what}: {exc.msg} at line {exc.lineno} column {exc.colno}") from exc
    except (ValueError, RecursionError) as exc:
        raise FileRefused(f"{place or 'it'} is no JSON that is read: {exc or 'it nests too deeply'}") from exc


def read_lines(text: str) -> Lines:
    """One value a line, blank lines left out. The last line may be cut short; any other that is no JSON is refused."""
    records: list[tuple[int, Any]] = []
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    for number, line in lines:
        try:
            records.append((number, read_json(line, f"line {number}")))
        except NotJson:
            if number != lines[-1][0] or not records or text.endswith("\n"):
                raise
            return Lines(tuple(records), torn=number)
    return Lines(tuple(records))


def first_of(text: str) -> tuple[Any, str] | None:
    """The first JSON value of a text, and all that follows it; None where it begins with none."""
    stripped = text.lstrip()
    try:
        value, end = _DECODER.raw_decode(stripped)
    except (ValueError, RecursionError):
        return None
    return value, stripped[end:]


def write_json(value: object) -> bytes:
    """A value as JSON, in UTF-8; half surrogates, which UTF-8 cannot write, stand as escapes."""
    tight = (",", ":")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=tight).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=tight).encode()


def a_map(value: object, place: str) -> dict[str, Any]:
    """A value that has to be an object. Raises FileRefused, naming its place."""
    if not isinstance(value, dict):
        raise FileRefused(f"{place} is no object")
    return value


def a_list(value: object, place: str) -> list[Any]:
    """A value that has to be a list. Raises FileRefused, naming its place."""
    if not isinstance(value, list):
        raise FileRefused(f"{place} is no list")
    return value


def maps(value: object) -> list[dict[str, Any]]:
    """The objects of what may be a list of them; nothing where it is something else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def map_or_empty(value: object) -> dict[str, Any]:
    """A value that is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_or_none(value: object) -> str | None:
    """A value that is a text, else None."""
    return value if isinstance(value, str) else None


def moment(value: object) -> datetime.datetime | None:
    """A time as ISO 8601 writes it; one without a zone is taken as UTC. None for anything else."""
    try:
        found = datetime.datetime.fromisoformat(value) if isinstance(value, str) else None
        if found is not None and found.tzinfo is None:
            found = found.replace(tzinfo=datetime.UTC)
        return found.astimezone(datetime.UTC) if found else None
    except (ValueError, OverflowError):
        return None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _number(digits: str) -> float:
    found = float(digits)
    if found in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:40]} is too large")
    return found


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_number)


def _checked(value: Any, place: str) -> Any:
    """Count the values and the floors of what was read: both are multiplied by whoever reads it on."""
    count = 0
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        each, depth = waiting.pop()
        if depth > IMPORT_DEPTH:
            raise FileRefused(f"{place or 'it'} nests deeper than {IMPORT_DEPTH} floors")
        held = list(_held(each))
        count += len(held)
        if count > IMPORT_VALUES:
            raise FileRefused(f"{place or 'it'} holds more than {IMPORT_VALUES} values")
        waiting.extend((inner, depth + 1) for inner in held if isinstance(inner, dict | list))
    return value


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        return iter(value.values())
    return iter(value) if isinstance(value, list) else iter(())
