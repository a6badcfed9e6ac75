"""What a file is, told by its shape: one of the formats that are read, or one that is known and is not."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from capture.importing.errors import FileRefused
from capture.importing.reading import Lines, first_of, maps, read_json, read_lines, text_of
from capture.importing.zipped import unfold

_LOOKED_AT: Final = 50  # records at the beginning of a file that tell what it is
_ZIP: Final = b"PK"


class Format(StrEnum):
    """The formats that are read."""

    MESSAGES = "messages"
    CLAUDE_CODE = "claude-code"
    INSPECT = "inspect"
    LANGFUSE = "langfuse"


@dataclass(frozen=True, slots=True)
class Recognised:
    """A file's format and its content: a JSON value, or its Lines."""

    format: Format
    content: Any


def recognise(data: bytes, wanted: Format | None = None) -> Recognised:
    """What the bytes of a file are. ``wanted`` is what somebody says that they are. Raises FileRefused."""
    if data.startswith(_ZIP):
        if wanted not in (None, Format.INSPECT):
            raise FileRefused(f"it is a zip archive, and no {wanted} file")
        return Recognised(Format.INSPECT, unfold(data))
    content = _content(text_of(data))
    if wanted is not None:
        return Recognised(wanted, content)
    for shape, has_it in _SHAPES:
        if has_it(content):
            if isinstance(shape, Format):
                return Recognised(shape, content)
            raise FileRefused(f"{shape} trajectories are not read")
    raise FileRefused("its format is unknown")


def _content(text: str) -> Any:
    """One JSON value, or one a line: told apart by what follows the first."""
    if not text.strip():
        raise FileRefused("it is empty")
    found = first_of(text)
    if found is None or not found[1].strip():
        return read_json(text)
    first, behind = found
    if isinstance(first, dict) and behind.startswith("{"):
        return Joined(first)
    return read_lines(text)


@dataclass(frozen=True, slots=True)
class Joined:
    """JSON values one behind the other on one line, of which the first is looked at."""

    first: dict[str, Any]


def _records(content: Any) -> list[Any]:
    if isinstance(content, Lines):
        return [held for _, held in content.records[:_LOOKED_AT]]
    return content[:_LOOKED_AT] if isinstance(content, list) else [content]


def _some(content: Any, has_it: Callable[[dict[str, Any]], bool]) -> bool:
    return any(map(has_it, maps(_records(content))))


def _is_atif(content: Any) -> bool:
    return isinstance(content, dict) and str(content.get("schema_version")).startswith("ATIF")


def _is_mini_swe(content: Any) -> bool:
    if isinstance(content, dict):
        return str(content.get("trajectory_format")).startswith("mini-swe-agent")
    texts = (each.get("content") for each in maps(content))
    return any(isinstance(text, str) and "mswea_bash_command" in text for text in texts)


def _is_swe(content: Any) -> bool:
    if not isinstance(content, dict):
        return False
    history = maps(content.get("history"))
    steps = maps(content.get("trajectory"))
    return bool(steps or history) and (
        any("action" in each for each in steps) or any("role" in each for each in history)
    )


def _is_openclaw(content: Any) -> bool:
    return _some(content, lambda each: "." in str(each.get("type")) and {"seq", "ts"} <= each.keys())


def _is_managed(content: Any) -> bool:
    listed = [each for each in _records(content) if isinstance(each, list) and each]
    return any(isinstance(each[0], str) and each[0].startswith("client.beta.") for each in listed)


def _is_codex(content: Any) -> bool:
    if isinstance(content, Joined):
        return str(content.first.get("type")).startswith("response.")
    return _some(content, lambda each: {"request", "response", "transport"} <= each.keys()) or _some(
        content, lambda each: {"payload", "timestamp", "type"} <= each.keys()
    )


def _is_langfuse(content: Any) -> bool:
    if not isinstance(content, dict) or not isinstance(content.get("observations"), list):
        return False
    return isinstance(content.get("trace"), dict) or "projectId" in content or "timestamp" in content


def _is_inspect(content: Any) -> bool:
    if not isinstance(content, dict):
        return False
    events = maps(content.get("events"))
    return isinstance(content.get("eval"), dict) or any("event" in each for each in events[:_LOOKED_AT])


def _is_claude_code(content: Any) -> bool:
    if isinstance(content, dict) and isinstance(content.get("messages"), list):
        content = content["messages"]
        return _some(content, lambda each: "direction" in each and isinstance(each.get("message"), dict))
    return _some(content, _is_session_record)


def _is_session_record(record: dict[str, Any]) -> bool:
    if not isinstance(record.get("type"), str):
        return False
    is_message = record["type"] in ("user", "assistant") and isinstance(record.get("message"), dict)
    return is_message or "sessionId" in record or {"summary", "leafUuid"} <= record.keys()


def _is_messages(content: Any) -> bool:
    if isinstance(content, dict):
        return isinstance(content.get("traj"), list) or any(
            "role" in each for each in maps(content.get("messages"))
        )
    records = maps(_records(content))
    return any("role" in each or _is_messages(each) for each in records)


_SHAPES: Final[tuple[tuple[Format | str, Callable[[Any], bool]], ...]] = (
    ("atif", _is_atif),
    ("mini-swe-agent", _is_mini_swe),
    ("anthropic-managed", _is_managed),
    ("codex", _is_codex),
    ("openclaw", _is_openclaw),
    (Format.LANGFUSE, _is_langfuse),
    (Format.INSPECT, _is_inspect),
    (Format.CLAUDE_CODE, _is_claude_code),
    ("swe-agent", _is_swe),
    (Format.MESSAGES, _is_messages),
)
