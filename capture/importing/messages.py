"""Message lists in OpenAI's style: ``{messages: [..]}``, tau-bench's ``{traj: [..], info}``, and lists of these."""

from typing import Any, Final

from capture.importing.building import ABSENT, ImportedRun, Keys, Reading, RunBuilder, digest
from capture.importing.errors import FileRefused
from capture.importing.reading import Lines, a_list, a_map, maps, text_or_none, write_json
from capture_sdk.runs.records import Status

_LISTS: Final = ("traj", "messages")
_RESULTS: Final = ("tool", "function")


def read_messages(content: Any, agent_id: str) -> Reading:
    """Every conversation of a file as a run of its own."""
    keys = Keys(agent_id)
    runs = tuple(_read(held, place, keys) for place, held in _conversations(content))
    if not runs:
        raise FileRefused("it holds no conversation")
    torn = content.torn if isinstance(content, Lines) else None
    return Reading(runs, (f"line {torn} is cut short and was left out",) if torn else ())


def _conversations(content: Any) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(content, Lines):
        return [(f"line {number}", a_map(held, f"line {number}")) for number, held in content.records]
    if isinstance(content, list) and all("role" in each for each in maps(content)):
        return [("it", {"messages": content})]
    if isinstance(content, list):
        return [(f"[{place}]", a_map(held, f"[{place}]")) for place, held in enumerate(content)]
    return [("it", a_map(content, "it"))]


def _read(held: dict[str, Any], place: str, keys: Keys) -> ImportedRun:
    named = next((name for name in _LISTS if name in held), None)
    if named is None:
        raise FileRefused(f"{place} has neither 'traj' nor 'messages'")
    where = named if place == "it" else f"{place}.{named}"
    messages = [a_map(each, f"{where}[{index}]") for index, each in enumerate(a_list(held[named], where))]
    builder = RunBuilder(keys.key(digest(write_json(held).decode())))
    told = {name: value for name, value in held.items() if name != named}
    ours = {"format": "messages", "isTimed": False}
    plain = {
        name: value
        for name, value in told.items()
        if isinstance(value, str | int | float) and name not in ours
    }
    builder.begin(_name(told), at=None, metadata=plain | ours)
    for name in sorted(told.keys() - plain.keys()):
        builder.tell(name, f"told {name}", told[name])
    walk(builder, messages, ABSENT)
    if named == "traj":  # a result was written, so the episode has ended
        _end(builder, told.get("info"))
    return builder.build()


def walk(builder: RunBuilder, messages: list[dict[str, Any]], model: object) -> None:
    """Add a conversation: what the model said as calls and proposals, results as executions, the rest as messages."""
    for index, message in enumerate(messages):
        part = f"message {index}"
        if message.get("role") == "assistant":
            _add_answer(builder, part, message, model)
        elif message.get("role") in _RESULTS and message.keys() & {"content", "tool_call_id"}:
            _add_result(builder, part, message)
        else:
            builder.tell("message", part, message)


def _add_answer(builder: RunBuilder, part: str, message: dict[str, Any], model: object) -> None:
    told = text_or_none(message.get("model"))
    call = builder.call(part, model=told or model)
    output = builder.answer(message)
    usage = message.get("usage")
    builder.answered(part, call, output=output, usage=usage if isinstance(usage, dict) else ABSENT)
    propose_calls(builder, part, message, call)


def propose_calls(builder: RunBuilder, part: str, message: dict[str, Any], call: str) -> None:
    """The tool calls of one answer, each as a proposal; its oldest form, ``function_call``, among them."""
    for number, proposed in enumerate(maps(message.get("tool_calls"))):
        named = proposed.get("function")
        function = named if isinstance(named, dict) else {**proposed, "name": named}
        builder.propose(
            f"{part} tool {number}",
            name=function.get("name"),
            arguments=function.get("arguments", ABSENT),
            call_id=proposed.get("id", ABSENT),
            call=call,
        )
    old = message.get("function_call")
    if isinstance(old, dict):
        arguments = old.get("arguments", ABSENT)
        builder.propose(f"{part} function", name=old.get("name"), arguments=arguments, call=call)


def _add_result(builder: RunBuilder, part: str, message: dict[str, Any]) -> None:
    call_id, name = message.get("tool_call_id", ABSENT), message.get("name", ABSENT)
    proposal = builder.proposal_of(call_id, name)
    execution = builder.execute(part, call_id=call_id, name=name, proposal=proposal)
    known = {"role", "content", "tool_call_id", "name"}
    rest = {key: value for key, value in message.items() if key not in known}
    builder.returned(
        part,
        execution,
        output=message.get("content", ABSENT),
        status=Status.ERROR if message.get("error") else Status.OK,
        record=rest if rest else ABSENT,
    )


def _name(told: dict[str, Any]) -> str | None:
    if "task_id" in told:
        return f"task {told['task_id']}"
    return text_or_none(told.get("name")) or text_or_none(told.get("id"))


def _end(builder: RunBuilder, info: object) -> None:
    failed = info.get("error") if isinstance(info, dict) else None
    if failed is None:
        builder.end(Status.OK)
    else:
        builder.end(Status.ERROR, {"type": "error", "message": failed})
