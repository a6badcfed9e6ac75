"""Messages and the parts of their contents, in the forms of OpenAI, Anthropic, Gemini and Bedrock.

Whatever a message holds comes out once: a text at its own path, any other part whole, and what else stands beside
them by itself. Only the words of the form (types, roles) and ids are left out, for they are structure.
"""

from collections.abc import Mapping
from typing import Any, Final

from capture.runs.inventory.found import Finds, Found, Kind, Visibility, child

_STRUCTURE: Final = frozenset(
    {"type", "role", "id", "tool_call_id", "tool_use_id", "call_id", "toolUseId", "index"}
)
_HIDDEN: Final = frozenset({"cache_control", "cachePoint", "status", "annotations"})
_SYSTEM: Final = frozenset({"system", "developer"})
_TOOLS: Final = frozenset({"tool", "function"})
_CALL_LISTS: Final = ("tool_calls", "function_call")
_RESULTS: Final = ("tool_result", "toolResult")
# The word that tells what a part is: its ``type``, or the key that holds it.
_KINDS: Final = {
    "image": Kind.IMAGE,
    "image_url": Kind.IMAGE,
    "input_image": Kind.IMAGE,
    "input_audio": Kind.AUDIO,
    "audio": Kind.AUDIO,
    "input_file": Kind.FILE,
    "file": Kind.FILE,
    "document": Kind.FILE,
    "video": Kind.FILE,
    "fileData": Kind.FILE,
    "file_data": Kind.FILE,
    "search_result": Kind.RETRIEVAL,
    "thinking": Kind.REASONING,
    "redacted_thinking": Kind.REASONING,
    "reasoning": Kind.REASONING,
    "reasoningContent": Kind.REASONING,
    "tool_use": Kind.TOOL_CALL,
    "toolUse": Kind.TOOL_CALL,
    "functionCall": Kind.TOOL_CALL,
    "function_call": Kind.TOOL_CALL,
    "server_tool_use": Kind.TOOL_CALL,
    "functionResponse": Kind.TOOL_RESULT,
    "function_response": Kind.TOOL_RESULT,
    "cachePoint": Kind.SETTINGS,
}
_MAX_DEPTH: Final = 8  # parts within parts; deeper, the rest stays in one piece


def kind_of(role: str | None) -> Kind:
    """What a message's text is, by the role that says it."""
    if role in _SYSTEM:
        return Kind.SYSTEM
    return Kind.TOOL_RESULT if role in _TOOLS else Kind.MESSAGE


def message(path: str, value: object) -> Finds:
    """One message of a conversation."""
    if not isinstance(value, dict):
        yield Found(path, value, Kind.MESSAGE)
        return
    role = role_of(value)
    found = [*_contents(path, value, role), *_calls(path, value, role)]
    rest = {key: held for key, held in value.items() if key not in {"content", "parts", *_CALL_LISTS}}
    found += _beside(path, rest, role)
    yield from found or [Found(path, value, kind_of(role), role)]


def role_of(value: Mapping[str, Any]) -> str | None:
    """Who says it, in the recorded word."""
    role = value.get("role")
    return role if isinstance(role, str) else None


def _contents(path: str, value: Mapping[str, Any], role: str | None) -> Finds:
    for key in ("content", "parts"):
        if value.get(key) is not None:
            yield from content(child(path, key), value[key], kind_of(role), role)


def _calls(path: str, value: Mapping[str, Any], role: str | None) -> Finds:
    for key in _CALL_LISTS:
        held, at = value.get(key), child(path, key)
        if isinstance(held, list):
            yield from (Found(child(at, n), each, Kind.TOOL_CALL, role) for n, each in enumerate(held))
        elif held is not None:
            yield Found(at, held, Kind.TOOL_CALL, role)


def content(path: str, value: object, kind: Kind, role: str | None, *, depth: int = 0) -> Finds:
    """What a message, or the result of a tool, consists of: a text, a part, or parts."""
    if isinstance(value, list) and depth < _MAX_DEPTH and value:
        for number, each in enumerate(value):
            yield from _part(child(path, number), each, kind, role, depth)
    elif isinstance(value, dict):
        yield from _part(path, value, kind, role, depth)
    else:
        yield Found(path, value, kind, role)


def _part(path: str, value: object, kind: Kind, role: str | None, depth: int) -> Finds:
    if not isinstance(value, dict):
        yield Found(path, value, kind, role)
    elif isinstance(value.get("text"), str):
        said = Kind.REASONING if value.get("thought") is True else kind
        yield Found(child(path, "text"), value["text"], said, role)
        yield from _beside(
            path, {key: held for key, held in value.items() if key not in {"text", "thought"}}, role
        )
    elif (result := _result(path, value)) is not None and depth < _MAX_DEPTH:
        yield from _of_result(*result, role, depth)
    else:
        said = _kind_of_part(value, kind)
        seen = Visibility.HIDDEN if said is Kind.SETTINGS else Visibility.MODEL
        yield Found(path, value, said, role, visibility=seen)


def _result(path: str, value: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Where a tool's result stands, if this part is one whose contents can be told apart."""
    if value.get("type") in _RESULTS and value.get("content") is not None:
        return path, value
    held = value.get("toolResult")
    if isinstance(held, dict) and held.get("content") is not None and len(value) == 1:
        return child(path, "toolResult"), held
    return None


def _of_result(path: str, value: Mapping[str, Any], role: str | None, depth: int) -> Finds:
    yield from content(child(path, "content"), value["content"], Kind.TOOL_RESULT, role, depth=depth + 1)
    yield from _beside(path, {key: held for key, held in value.items() if key != "content"}, role)


def _kind_of_part(value: Mapping[str, Any], kind: Kind) -> Kind:
    told = value.get("type")
    for word in (told,) if isinstance(told, str) else value:
        if word in _KINDS:
            return _KINDS[word]
        if word in ("inlineData", "inline_data"):
            return _kind_of_media(value[word])
        if isinstance(told, str) and word.endswith(("_result", "_output")):
            return Kind.TOOL_RESULT
    return kind


def _kind_of_media(value: object) -> Kind:
    told = (value.get("mimeType") or value.get("mime_type")) if isinstance(value, dict) else None
    main = str(told).split("/")[0]
    return {"image": Kind.IMAGE, "audio": Kind.AUDIO}.get(main, Kind.FILE)


def _beside(path: str, rest: Mapping[str, Any], role: str | None) -> Finds:
    """What stands beside the contents: whether a model sees it, its format alone does not tell."""
    for key, held in rest.items():
        if key in _STRUCTURE or held is None:
            continue
        if key in _HIDDEN:
            yield Found(child(path, key), held, Kind.SETTINGS, role, visibility=Visibility.HIDDEN)
        else:
            yield Found(child(path, key), held, kind_of(role), role, visibility=Visibility.UNKNOWN)
