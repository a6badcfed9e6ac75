"""A request's format told by its keys, and one reader for each: every value of the request comes out once."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from capture.runs.inventory.found import Finds, Found, Kind, Visibility, child, settings, tools
from capture.runs.inventory.parts import content, message, role_of

_NOT_HERE: Final = "what it stands for is not in the request"
_SCHEMAS: Final = frozenset({"response_format", "text", "format", "responseSchema", "response_schema"}) | {
    "responseJsonSchema",
    "output_config",
    "output_format",
}

Reader = Callable[[Mapping[str, Any]], Finds]


def format_of(body: object) -> str:
    """The format of a request, in one of the words of ``READERS``; ``generic`` where its keys tell none."""
    if isinstance(body, list):
        return (
            "messages"
            if body and all(isinstance(each, dict) and "role" in each for each in body)
            else "generic"
        )
    if not isinstance(body, dict):
        return "generic"
    if isinstance(body.get("messages"), list):
        return _of_messages(body)
    if "contents" in body:
        return "gemini"
    if isinstance(body.get("input"), str | list) or "instructions" in body:
        return "openai.responses"
    return "completion" if isinstance(body.get("prompt"), str | list) else "generic"


def _of_messages(body: Mapping[str, Any]) -> str:
    if {"inferenceConfig", "toolConfig", "modelId"} & body.keys():
        return "bedrock.converse"
    declared = body.get("tools")
    tool = declared[0] if isinstance(declared, list) and declared else None
    if {"system", "anthropic_version"} & body.keys() or (isinstance(tool, dict) and "input_schema" in tool):
        return "anthropic.messages"
    return "openai.chat"


def finds(body: object, format_name: str) -> Finds:
    """Everything in a request, each value once; one without any, such as an empty list of messages, is itself one."""
    found = _read(body, format_name)
    first = next(found, None)
    yield Found("request", body, Kind.PROMPT) if first is None else first
    yield from found


def _read(body: object, format_name: str) -> Finds:
    if isinstance(body, list) and format_name == "messages":
        for number, each in enumerate(body):
            yield from message(child("", number), each)
    elif isinstance(body, dict):
        yield from READERS[format_name](body)


def _conversation(body: Mapping[str, Any]) -> Finds:
    """Chat completions, Anthropic's messages and Bedrock's converse differ in what their parts look like."""
    for key, value in body.items():
        if key == "messages":
            yield from _messages(key, value)
        elif key == "system" and value is not None:
            yield from content(key, value, Kind.SYSTEM, "system")
        elif key == "toolConfig" and isinstance(value, dict):
            yield from _tool_config(value)
        else:
            yield from _other(key, value)


def _messages(path: str, value: object) -> Finds:
    if not isinstance(value, list):
        yield from message(path, value)
        return
    for number, each in enumerate(value):
        yield from message(child(path, number), each)


def _tool_config(value: Mapping[str, Any]) -> Finds:
    for key, held in value.items():
        at = child("toolConfig", key)
        if key == "tools" and isinstance(held, list):
            yield from tools(at, held)
        else:
            yield Found(at, held, Kind.SETTINGS, visibility=Visibility.HIDDEN)


def _responses(body: Mapping[str, Any]) -> Finds:
    for key, value in body.items():
        if key == "instructions" and value is not None:
            yield from content(key, value, Kind.SYSTEM, "system")
        elif key == "input" and isinstance(value, list):
            for number, each in enumerate(value):
                yield from _input(child(key, number), each)
        elif key == "input":
            yield Found(key, value, Kind.MESSAGE, "user")
        elif key == "prompt":
            yield Found(key, value, Kind.PROMPT, visibility=Visibility.UNKNOWN, note=_NOT_HERE)
        else:
            yield from _other(key, value)


def _input(path: str, value: object) -> Finds:
    """One item of a response's input: a message, or by its type a call, a result, or the model's reasoning."""
    told = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or told in (None, "message"):
        yield from message(path, value)
    elif isinstance(told, str) and told.endswith("_output"):
        yield from _output(path, value)
    elif told == "item_reference":
        yield Found(path, value, Kind.MESSAGE, note=_NOT_HERE)
    else:
        kind = Kind.TOOL_CALL if str(told).endswith("_call") else Kind.MESSAGE
        yield Found(path, value, Kind.REASONING if told == "reasoning" else kind, role_of(value))


def _output(path: str, value: Mapping[str, Any]) -> Finds:
    if value.get("output") is None:
        yield Found(path, value, Kind.TOOL_RESULT)
        return
    rest = {key: held for key, held in value.items() if key != "output"}
    for found in message(path, {"role": "tool", "content": value["output"], **rest}):
        yield replace(
            found, path=found.path.replace(f"{path}.content", f"{path}.output", 1), role=role_of(value)
        )


def _gemini(body: Mapping[str, Any]) -> Finds:
    yield from _gemini_entries("", body)


def _gemini_entries(path: str, body: Mapping[str, Any]) -> Finds:
    for key, value in body.items():
        at = child(path, key)
        if key == "contents":
            yield from _messages(at, value)
        elif key in ("systemInstruction", "system_instruction") and value is not None:
            yield from _instruction(at, value)
        elif key == "tools" and isinstance(value, list):
            yield from _declarations(at, value)
        elif key in ("cachedContent", "cached_content") and value is not None:
            yield Found(at, value, Kind.MESSAGE, note=_NOT_HERE)
        elif key == "config" and isinstance(value, dict):
            yield from _gemini_entries(at, value)
        elif key in ("generationConfig", "generation_config") and isinstance(value, dict):
            yield from settings(at, value, unknown=_SCHEMAS)
        else:
            yield from settings(path, {key: value}, unknown=_SCHEMAS)


def _instruction(path: str, value: object) -> Finds:
    if isinstance(value, dict) and isinstance(value.get("parts"), list):
        yield from content(child(path, "parts"), value["parts"], Kind.SYSTEM, "system")
        rest = {key: held for key, held in value.items() if key not in {"parts", "role"}}
        yield from settings(path, rest)
    else:
        yield from content(path, value, Kind.SYSTEM, "system")


def _declarations(path: str, value: list[Any]) -> Finds:
    for number, tool in enumerate(value):
        at = child(path, number)
        if not isinstance(tool, dict):
            yield Found(at, tool, Kind.TOOL_DEFINITION)
            continue
        for key, held in tool.items():
            if key in ("functionDeclarations", "function_declarations") and isinstance(held, list):
                yield from tools(child(at, key), held)
            else:
                yield Found(child(at, key), held, Kind.TOOL_DEFINITION, name=key)


def _other(key: str, value: Any) -> Finds:
    """An entry that several formats know; any other is a setting."""
    if key in ("tools", "functions") and isinstance(value, list):
        yield from tools(key, value)
    elif key == "documents" and isinstance(value, list):
        yield from (Found(child(key, number), each, Kind.RETRIEVAL) for number, each in enumerate(value))
    elif key in ("previous_response_id", "conversation") and value is not None:
        yield Found(key, value, Kind.MESSAGE, note=_NOT_HERE)
    else:
        yield from settings("", {key: value}, unknown=_SCHEMAS)


def _completion(body: Mapping[str, Any]) -> Finds:
    for key, value in body.items():
        texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if key == "prompt" and texts:
            yield from (Found(child(key, number), each, Kind.PROMPT) for number, each in enumerate(value))
        elif key in ("prompt", "suffix"):
            yield Found(key, value, Kind.PROMPT)
        elif key == "system" and value is not None:
            yield from content(key, value, Kind.SYSTEM, "system")
        else:
            yield from _other(key, value)


_TOLD: Final = {"prompt": Kind.PROMPT, "message": Kind.MESSAGE, "query": Kind.PROMPT, "text": Kind.PROMPT} | {
    "preamble": Kind.SYSTEM,
    "instructions": Kind.SYSTEM,
    "system": Kind.SYSTEM,
    "system_prompt": Kind.SYSTEM,
    "chat_history": Kind.MESSAGE,
    "content": Kind.MESSAGE,
}


def _generic(body: Mapping[str, Any]) -> Finds:
    yield from _generic_entries("", body)


def _generic_entries(path: str, body: Mapping[str, Any]) -> Finds:
    """A format that is not known: an item an entry, by its name; whether the model sees the others is not told."""
    for key, value in body.items():
        at = child(path, key)
        if key in ("input", "session") and isinstance(value, dict) and value and not path:
            yield from _generic_entries(at, value)
        elif key in _TOLD and isinstance(value, str | list):
            yield Found(at, value, _TOLD[key])
        elif key in ("tools", "functions") and isinstance(value, list):
            yield from tools(at, value)
        else:
            yield Found(at, value, Kind.SETTINGS, visibility=Visibility.UNKNOWN)


READERS: Final[Mapping[str, Reader]] = {
    "openai.chat": _conversation,
    "openai.responses": _responses,
    "anthropic.messages": _conversation,
    "bedrock.converse": _conversation,
    "gemini": _gemini,
    "completion": _completion,
    "generic": _generic,
}
