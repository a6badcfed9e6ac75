"""What a request's reader finds: one value at its path, and what it is to the model."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from capture_sdk.freeze import jsonable
from capture_sdk.runs.records import ARTIFACT

_PLAIN: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_TOOL: Final = re.compile(r"(?!\d+\Z)[A-Za-z0-9_.:/-]{1,128}")
_SCHEMAS: Final = frozenset({"parameters", "input_schema", "inputSchema", "schema"}) | {
    "parametersJsonSchema",
    "parameters_json_schema",
}


class Kind(StrEnum):
    """What an item is. An annotation may bring another word."""

    SYSTEM = "system"
    PROMPT = "prompt"
    MESSAGE = "message"
    REASONING = "reasoning"
    RETRIEVAL = "retrieval"
    MEMORY = "memory"
    TOOL_DEFINITION = "tool_definition"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    IMAGE = "image"
    AUDIO = "audio"
    FILE = "file"
    SETTINGS = "settings"
    UNREAD = "unread"  # what could not be taken apart


class Visibility(StrEnum):
    """Whether the model saw an item. ``unknown`` where the format does not tell."""

    MODEL = "model"
    HIDDEN = "hidden"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Found:
    """One value of a request. ``alias`` is its path by position where ``path`` has a name; ``note`` what is odd.

    ``lacks`` are the parts of a tool's definition that are not there.
    """

    path: str
    value: Any
    kind: str
    role: str | None = None
    visibility: str = Visibility.MODEL
    name: str | None = None
    alias: str | None = None
    note: str | None = None
    lacks: tuple[str, ...] = ()


Finds = Iterator[Found]


def child(path: str, key: str | int) -> str:
    """The path of what stands under ``key``: ``a.b``, ``a[3]``, or ``a["x y"]`` for a key that is no plain word."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def is_ref(value: object) -> bool:
    """Whether an artifact stands here."""
    return (
        isinstance(value, dict)
        and isinstance(value.get(ARTIFACT), str)
        and isinstance(value.get("bytes"), int)
    )


def exact_text(value: object) -> str:
    """A text as it is; any other value as compact JSON, its keys in their order."""
    if isinstance(value, str):
        return value
    return json.dumps(jsonable(value), ensure_ascii=False, separators=(",", ":"))


def settings(path: str, values: Mapping[str, Any], *, unknown: frozenset[str] = frozenset()) -> Finds:
    """Each entry as a setting that the model does not see; for those ``unknown`` the format does not tell."""
    for key, value in values.items():
        seen = Visibility.UNKNOWN if key in unknown else Visibility.HIDDEN
        yield Found(child(path, key), value, Kind.SETTINGS, visibility=seen)


def tools(path: str, defined: Sequence[Any]) -> Finds:
    """Tool definitions, each under its name where it has one of its own, else under its number."""
    names = [tool_name(each) for each in defined]
    times = Counter(names)
    for number, (tool, name) in enumerate(zip(defined, names, strict=True)):
        position = child(path, number)
        is_named = name is not None and times[name] == 1 and _TOOL.fullmatch(name)
        at = f"{path}[{name}]" if is_named else position
        yield Found(at, tool, Kind.TOOL_DEFINITION, name=name, alias=position, lacks=tool_lacks(tool))


def tool_name(tool: object) -> str | None:
    """The name in a tool's definition, in any of the formats."""
    return next((str(held["name"]) for held in _definitions(tool) if isinstance(held.get("name"), str)), None)


def tool_lacks(tool: object) -> tuple[str, ...]:
    """Which of description and schema a tool's definition does not have. An empty one is there."""
    there = {key for held in _definitions(tool) for key in held}
    lacks = () if "description" in there else ("description",)
    return lacks if there & _SCHEMAS else (*lacks, "schema")


def _definitions(tool: object) -> list[dict[str, Any]]:
    if not isinstance(tool, dict):
        return []
    return [held for held in (tool, tool.get("function"), tool.get("toolSpec")) if isinstance(held, dict)]
