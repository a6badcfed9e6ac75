"""The tool calls within an answer, whichever provider's or framework's shape it has."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from capture.importing.building import ABSENT
from capture.importing.reading import map_or_empty, maps, text_or_none

# Where the shapes keep the parts of an answer.
_INNER: Final = ("content", "parts", "message", "choices", "candidates", "output")
_USES: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "function_call"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool that an answer asks for; ``arguments`` as the answer has them, a text or an object."""

    call_id: str | None
    name: str | None
    arguments: object


def tool_calls(answer: object) -> list[ToolCall]:
    """Every tool call of an answer, which may be written as JSON within a text."""
    try:
        return list(_calls(parsed(answer)))
    except RecursionError:  # a text within a text may nest deeper than the file
        return []


def parsed(value: object) -> Any:
    """A value, or what its text is as JSON; the text itself where it is none."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _calls(answer: object) -> Iterator[ToolCall]:
    if isinstance(answer, list):
        for each in answer:
            yield from _calls(each)
    elif isinstance(answer, dict):
        found = _one(answer)
        if found is not None:
            yield found
            return
        yield from _listed(answer)
        for name in _INNER:
            if isinstance(answer.get(name), dict | list):
                yield from _calls(answer[name])


def _one(part: dict[str, Any]) -> ToolCall | None:
    """A part that is a tool call: Anthropic's, OpenAI's responses, OpenTelemetry's, the AI SDK's or Gemini's."""
    if isinstance(part.get("toolCallId"), str) and "toolName" in part:
        named = next((name for name in ("input", "args") if name in part), "input")
        return _call(part["toolCallId"], part["toolName"], part.get(named, ABSENT))
    if isinstance(part.get("type"), str) and part["type"] in _USES and "name" in part:
        named = "input" if "input" in part else "arguments"
        return _call(part.get("call_id") or part.get("id"), part["name"], part.get(named, ABSENT))
    for name in ("function_call", "functionCall"):
        held = part.get(name)
        if isinstance(held, dict) and "args" in held:
            return _call(held.get("id"), held.get("name"), held["args"])
    return None


def _listed(message: dict[str, Any]) -> Iterator[ToolCall]:
    """A message's list of tool calls: OpenAI's, or LangChain's copy of it."""
    further = map_or_empty(message.get("additional_kwargs")).get("tool_calls")
    for each in maps(message.get("tool_calls")) or maps(further):
        function = each.get("function")
        held = function if isinstance(function, dict) else each
        named = next((name for name in ("arguments", "args") if name in held), "arguments")
        yield _call(each.get("id"), held.get("name"), held.get(named, ABSENT))


def _call(call_id: object, name: object, arguments: object) -> ToolCall:
    return ToolCall(text_or_none(call_id), text_or_none(name), arguments)
