"""The events of one Inspect sample, in their order, as a run and the runs of the agents within it."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

from capture.importing.attachments import Attachments
from capture.importing.building import ABSENT, Keys, RunBuilder, digest
from capture.importing.messages import propose_calls
from capture.importing.reading import map_or_empty, maps, moment, text_or_none, write_json
from capture_sdk.runs.records import Status

_DENIALS: Final = ("reject", "terminate")


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of the transcript: its run, the event that opened it there, and whether it is within an agent."""

    builder: RunBuilder
    opened: str | None
    is_agent: bool
    ends_run: bool = False


class Transcript:
    """Takes a sample's events; ``builders`` are its runs, the sample's own first."""

    def __init__(
        self,
        builder: RunBuilder,
        keys: Keys,
        texts: Attachments,
        messages: list[dict[str, Any]],
        *,
        has_failed: bool,
    ) -> None:
        self.builders = [builder]
        self._keys = keys
        self._texts = texts
        self._has_failed = has_failed
        self._root = _Span(builder, None, is_agent=False)
        self._spans: dict[str, _Span] = {}
        self._conversation = _Conversation(messages)
        self._answered: set[str] = set()
        self._denied: set[str] = set()

    def take(self, events: list[dict[str, Any]], within: _Span | None = None) -> None:
        """Add events; ``within`` is what those stand in that are nested instead of naming their span."""
        for index, event in enumerate(events):
            span = within or self._span(event.get("id" if event.get("event") == "span_end" else "span_id"))
            span.builder.seen(moment(event.get("timestamp")))
            part = text_or_none(event.get("uuid")) or f"event {index} in {span.opened}"
            kind = event.get("event")
            if kind == "model":
                self._model(span, part, event)
            elif kind == "tool":
                self._tool(span, part, event)
            elif kind == "approval":
                self._approval(span, part, event)
            elif kind == "span_begin":
                self._begin(part, event)
            else:
                self._other(span, part, event)

    def tell_rest(self) -> None:
        """Add the messages behind the last answer."""
        self._tell(self._conversation.rest())

    def _span(self, named: object) -> _Span:
        return self._spans.get(named, self._root) if isinstance(named, str) else self._root

    def _begin(self, part: str, event: dict[str, Any]) -> None:
        """A span; an agent's within an agent's opens a run of its own."""
        parent = self._span(event.get("parent_id"))
        parent.builder.seen(moment(event.get("timestamp")))
        opened = parent.builder.tell("span_begin", part, event, parent=parent.opened)
        named, is_agent = text_or_none(event.get("id")), event.get("type") == "agent"
        span = _Span(parent.builder, opened, is_agent or parent.is_agent)
        if named and is_agent and parent.is_agent:
            span = self._sub_agent(named, event, parent)
        if named:
            self._spans[named] = span

    def _sub_agent(self, named: str, event: dict[str, Any], parent: _Span) -> _Span:
        outer = parent.builder.key
        builder = RunBuilder(self._keys.key(self._root.builder.key.run_id, named))
        at = moment(event.get("timestamp"))
        began = builder.begin(
            text_or_none(event.get("name")), at=at, metadata={"format": "inspect"}, outer=outer
        )
        self.builders.append(builder)
        return _Span(builder, began, is_agent=True, ends_run=True)

    def _other(self, span: _Span, part: str, event: dict[str, Any]) -> None:
        kind = text_or_none(event.get("event")) or "event"
        nested = event.get("events")
        told = {name: value for name, value in event.items() if name != "events"} if nested else event
        if kind == "span_end" and span.ends_run:
            span.builder.tell(kind, part, event, parent=span.opened)
            span.builder.end(Status.ERROR if self._has_failed else Status.OK)
            return
        opened = span.builder.tell(kind, part, told, parent=span.opened)
        self.take(maps(nested), _Span(span.builder, opened, span.is_agent))

    def _model(self, span: _Span, part: str, event: dict[str, Any]) -> None:
        builder, output = span.builder, map_or_empty(event.get("output"))
        answers = [map_or_empty(each.get("message")) for each in maps(output.get("choices"))]
        for answer in answers[:1]:
            self._tell(self._conversation.before(self._texts.put_back(answer)))
        request, response, record = _sent(event)
        model = text_or_none(event.get("model"))
        call = builder.call(
            part,
            parent=span.opened,
            provider=model.split("/")[0] if model and "/" in model else ABSENT,
            model=model or ABSENT,
            request=builder.answer(self._texts.put_back(request)),
            params=_map(event.get("config")),
        )
        builder.seen(moment(event.get("completed")))
        for number, answer in enumerate(answers):
            propose_calls(builder, f"{part} choice {number}", self._texts.put_back(answer), call)
        if event.get("pending") is not True:
            self._finish(builder, f"{part} end", call, event, response=response, record=record)

    def _finish(
        self, builder: RunBuilder, part: str, call: str, event: dict[str, Any], *, response: Any, record: Any
    ) -> None:
        output = map_or_empty(event.get("output"))
        failed = event.get("error") or output.get("error")
        builder.answered(
            part,
            call,
            status=Status.ERROR if failed else Status.OK,
            output=builder.answer(self._texts.put_back(response)),
            usage=_map(output.get("usage")),
            error={"type": "error", "message": failed} if failed else ABSENT,
            record=record,
        )

    def _approval(self, span: _Span, part: str, event: dict[str, Any]) -> None:
        span.builder.tell("approval", part, event, parent=span.opened)
        asked = event.get("call")
        named = text_or_none(asked.get("id")) if isinstance(asked, dict) else None
        if event.get("decision") in _DENIALS and named:
            self._deny(span.builder, part, named, event.get("explanation"), event.get("approver"))

    def _deny(self, builder: RunBuilder, part: str, named: str, reason: object, by: object) -> None:
        proposal = builder.proposal_of(named)
        self._denied.add(named)
        told = {"by": by if by is not None else ABSENT, "callId": named}
        builder.deny(f"{part} denied", proposal, reason=ABSENT if reason is None else reason, **told)

    def _tool(self, span: _Span, part: str, event: dict[str, Any]) -> None:
        builder, named, failed = span.builder, text_or_none(event.get("id")), event.get("error")
        if isinstance(failed, dict) and failed.get("type") == "approval" and named:
            if named not in self._denied:
                self._deny(builder, part, named, failed.get("message"), None)
            builder.tell("tool", part, event, parent=span.opened)
            return
        proposal = builder.proposal_of(named) if named else None
        execution = builder.execute(
            part,
            call_id=named or ABSENT,
            name=event.get("function"),
            proposal=proposal,
            arguments=self._texts.put_back(event.get("arguments", ABSENT)),
            parent=span.opened,
        )
        self.take(maps(event.get("events")), _Span(builder, execution, span.is_agent))
        builder.seen(moment(event.get("completed")))
        if event.get("pending") is not True:
            self._return(builder, part, execution, event)

    def _return(self, builder: RunBuilder, part: str, execution: str, event: dict[str, Any]) -> None:
        failed, result = event.get("error"), self._texts.put_back(event.get("result", ABSENT))
        lifted = {"result", "arguments", "events"}
        if isinstance(event.get("id"), str):
            self._answered.add(event["id"])
        told = failed if isinstance(failed, dict) else {"type": "error", "message": failed}
        builder.returned(
            part,
            execution,
            output=result,
            status=Status.ERROR if failed or event.get("failed") is True else Status.OK,
            error=told if failed else ABSENT,
            record={name: value for name, value in event.items() if name not in lifted},
        )

    def _tell(self, messages: list[tuple[int, dict[str, Any]]]) -> None:
        """Add messages, except results that an execution has brought already."""
        for index, message in messages:
            if message.get("role") == "tool" and text_or_none(message.get("tool_call_id")) in self._answered:
                continue
            self._root.builder.tell("message", f"message {index}", message)


class _Conversation:
    """The sample's messages, told in step with the answers of the model among them."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self._messages = messages
        self._at = 0
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place in reversed(range(len(messages))):
            if messages[place].get("role") == "assistant":
                self._places[_name(messages[place])].append(place)

    def before(self, answer: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """The messages that come before an answer and were not told; none where it is not of this conversation."""
        places = self._places.get(_name(answer), [])
        while places and places[-1] < self._at:
            places.pop()
        return self._until(places.pop(), 1) if places else []

    def rest(self) -> list[tuple[int, dict[str, Any]]]:
        """The messages behind the last answer."""
        return self._until(len(self._messages), 0)

    def _until(self, place: int, skipped: int) -> list[tuple[int, dict[str, Any]]]:
        found = list(enumerate(self._messages[self._at : place], start=self._at))
        self._at = place + skipped
        return found


def _name(message: dict[str, Any]) -> str:
    """What an answer is known by: its id, else what it says."""
    told = {name: message.get(name) for name in ("content", "tool_calls")}
    return text_or_none(message.get("id")) or digest(write_json(told).decode())


def _sent(event: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The request and the response as they were, where the log has them; else as Inspect has them; and the rest."""
    record = dict(event)
    call = event.get("call")
    if isinstance(call, dict) and isinstance(call.get("request"), dict):
        record["call"] = {name: value for name, value in call.items() if name not in ("request", "response")}
        response = call.get("response")
        return call["request"], record.pop("output", ABSENT) if response is None else response, record
    given = {"messages": "input", "tools": "tools", "tool_choice": "tool_choice"}
    request = {ours: record.pop(theirs) for ours, theirs in given.items() if theirs in record}
    return request or ABSENT, record.pop("output", ABSENT), record


def _map(value: object) -> object:
    return value if isinstance(value, dict) else ABSENT
