"""The observations of a Langfuse trace, as a tree and in time: what a reader needs before it can tell them in order."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from capture.importing.building import ABSENT, UNTOLD
from capture.importing.reading import map_or_empty, moment, text_or_none
from capture.importing.toolcalls import ToolCall, parsed, tool_calls

_CALL_IDS: Final = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id")
_TOOL_NAMES: Final = ("gen_ai.tool.name", "ai.toolCall.name", "tool.name")
_ANCESTORS: Final = 64  # floors that a call repeated by wrappers is followed upwards


class Step(IntEnum):
    """What happens to an observation."""

    BEGIN = 0
    PROPOSE = 1
    END = 2


@dataclass(slots=True)
class Observation:
    """One observation. ``began`` is never before its parent's, whatever the clocks say: it is for the order alone."""

    id: str
    raw: dict[str, Any]
    parent: "Observation | None" = None
    depth: int = 0
    began: datetime.datetime = UNTOLD
    calls: list[ToolCall] = field(default_factory=list)
    repeated: set[str] = field(default_factory=set)

    @property
    def started_at(self) -> datetime.datetime | None:
        """When it began, as the trace says."""
        return moment(self.raw.get("startTime"))

    @property
    def ended_at(self) -> datetime.datetime | None:
        """When it ended; None for one that did not."""
        return moment(self.raw.get("endTime"))

    @property
    def type(self) -> str:
        """Its kind, in lower case."""
        return (text_or_none(self.raw.get("type")) or "observation").lower()

    @property
    def has_failed(self) -> bool:
        """Whether the trace marks it as an error."""
        return self.raw.get("level") == "ERROR"

    @property
    def attributes(self) -> dict[str, Any]:
        """What OpenTelemetry told of it, which the export writes as JSON within a text."""
        return map_or_empty(map_or_empty(parsed(self.raw.get("metadata"))).get("attributes"))

    @property
    def is_execution(self) -> bool:
        """Whether a tool was executed: the trace says so, or what came out is a tool's message."""
        return self.type == "tool" or (self.type != "generation" and self._answered_call is not None)

    @property
    def call_id(self) -> str | None:
        """Which tool call an execution carries out, where the trace says it."""
        told = (text_or_none(self.attributes.get(name)) for name in _CALL_IDS)
        return next(filter(None, told), None) or self._answered_call

    @property
    def tool(self) -> str | None:
        """The name of an execution's tool."""
        told = (text_or_none(self.attributes.get(name)) for name in _TOOL_NAMES)
        return next(filter(None, told), None) or text_or_none(self.raw.get("name"))

    @property
    def proposed(self) -> list[ToolCall]:
        """The tool calls of a generation that no generation within it has made: a wrapper repeats them."""
        return [call for call in self.calls if call.call_id is None or call.call_id not in self.repeated]

    @property
    def _answered_call(self) -> str | None:
        output = parsed(self.raw.get("output"))
        is_message = isinstance(output, dict) and output.get("type") == "tool"
        return text_or_none(output.get("tool_call_id")) if is_message else None


def arranged(listed: list[dict[str, Any]]) -> list[Observation]:
    """The observations with their parents, depths and tool calls, as they are listed."""
    found = [Observation(text_or_none(raw.get("id")) or f"#{place}", raw) for place, raw in enumerate(listed)]
    known = {each.id: each for each in found}
    for each in found:
        each.parent = known.get(text_or_none(each.raw.get("parentObservationId")) or "")
        each.began = each.started_at or UNTOLD
        each.calls = _calls(each) if each.type == "generation" else []
    _place(found)
    for each in found:
        _repeat(each)
    return found


def steps(found: list[Observation]) -> Iterator[tuple[Step, Observation]]:
    """What happened, in order: parents begin before their children, and a tool is proposed before it is executed."""
    asked = _first_executions(found)
    moments = [moment for place, each in enumerate(found) for moment in _moments(each, place, asked)]
    for *_, place, step in sorted(moments):
        yield Step(step), found[place]


def _moments(
    each: Observation, place: int, asked: dict[str, datetime.datetime]
) -> Iterator[tuple[datetime.datetime, int, int, int, int]]:
    """When something happens to it; at the same time others' ends come first, then beginnings, then what is instant."""
    began, ended = each.began, each.ended_at
    last = max(ended, began) if ended else began
    yield began, 1, each.depth, place, Step.BEGIN
    if each.proposed:
        named = [asked[call.call_id] for call in each.proposed if call.call_id in asked]
        when = max(began, min([last, *named, *([asked[each.id]] if each.id in asked else ())]))
        yield when, 2 if when == began else 0, -each.depth, place, Step.PROPOSE
    if ended:
        yield last, 3 if last == began else 0, -each.depth, place, Step.END


def _first_executions(found: list[Observation]) -> dict[str, datetime.datetime]:
    """When a call was first carried out, by its id, and by that of the observation in which it was."""
    first: dict[str, datetime.datetime] = {}
    for each in found:
        if each.is_execution:
            for named in filter(None, (each.call_id, each.parent.id if each.parent else None)):
                first[named] = min(each.began, first.get(named, each.began))
    return first


def _calls(each: Observation) -> list[ToolCall]:
    """The tool calls of an answer; where it shows none, those that the trace lists beside it."""
    found = tool_calls(each.raw.get("output"))
    listed = each.raw.get("toolCalls")
    if found or not isinstance(listed, list):
        return found
    names = each.raw.get("toolCallNames")
    names = names if isinstance(names, list) else []
    calls = [map_or_empty(parsed(call)) for call in listed]
    named = [names[place] if place < len(names) else call.get("name") for place, call in enumerate(calls)]
    return [
        ToolCall(text_or_none(call.get("id")), text_or_none(name), call.get("arguments", ABSENT))
        for call, name in zip(calls, named, strict=True)
        if call
    ]


def _place(found: list[Observation]) -> None:
    """Depths, and beginnings that are not before the parent's; a parent that is its own descendant is none."""
    placed: set[int] = set()
    for each in found:
        for one in reversed(_unplaced(each, placed)):
            placed.add(id(one))
            if one.parent is not None:
                one.depth = one.parent.depth + 1
                one.began = max(one.began, one.parent.began)


def _unplaced(each: Observation, placed: set[int]) -> list[Observation]:
    """One and its ancestors, up to the first that is placed, or to where a circle is cut."""
    chain = {id(each): each} if id(each) not in placed else {}
    while chain and each.parent is not None and id(each.parent) not in placed:
        if id(each.parent) in chain:
            each.parent = None
            break
        each = each.parent
        chain[id(each)] = each
    return list(chain.values())


def _repeat(each: Observation) -> None:
    """Tell the generations around one which calls it made."""
    named = {call.call_id for call in each.calls if call.call_id is not None}
    above = each.parent
    for _ in range(_ANCESTORS if named else 0):
        if above is None:
            return
        above.repeated |= named
        above = above.parent
