"""Claude Code's sessions: one JSON record a line, or the Agent SDK's transcript of what went to and fro.

A session is a run; a sub-agent's records (sidechains) are a run of their own within it. A cleared or compacted session
stays one run: the file says that it is one, and its marks stand where they were made.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from capture.importing.building import ABSENT, Reading, RunBuilder, digest, run_key
from capture.importing.errors import FileRefused
from capture.importing.reading import Lines, a_list, a_map, maps, moment, text_or_none, write_json
from capture.importing.sidechains import Threads
from capture_sdk.runs.records import Status

_REJECTED: Final = (
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
)
_NOT_PERMITTED: Final = ("Permission to use ", "Claude requested permissions to ")
_USES: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


@dataclass(slots=True)
class _Run:
    """One run in the making: its builder, and the answers of the model that are not whole yet."""

    builder: RunBuilder
    calls: dict[str, str] = field(default_factory=dict)
    pieces: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


def read_claude_code(content: Any, agent_id: str) -> Reading:
    """Every session of a file, with its sub-agents apart."""
    records = _records(content)
    torn = content.torn if isinstance(content, Lines) else None
    notes = (f"line {torn} is cut short and was left out",) if torn else ()
    session = _Sessions(agent_id, records)
    for place, record in records:
        session.take(place, record)
    if isinstance(content, dict) and "messages" in content:
        around = {name: value for name, value in content.items() if name != "messages"}
        next(iter(session.runs.values())).builder.tell("transcript", "transcript", around)
    return Reading(tuple(run.builder.build() for run in session.runs.values()), notes)


def _records(content: Any) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(content, Lines):
        return [(f"line {number}", a_map(held, f"line {number}")) for number, held in content.records]
    if isinstance(content, dict) and "type" in content:
        return [("line 1", content)]
    found = content.get("messages") if isinstance(content, dict) else content
    records = []
    for index, each in enumerate(a_list(found, "messages")):
        held = a_map(each, f"messages[{index}]")
        records.append((f"messages[{index}]", _unwrapped(held)))
    if not records:
        raise FileRefused("it holds no record")
    return records


def _unwrapped(held: dict[str, Any]) -> dict[str, Any]:
    """A record of the SDK's transcript, which way it went beside it."""
    inner = held.get("message")
    if "direction" not in held or not isinstance(inner, dict):
        return held
    return {**inner, **{name: value for name, value in held.items() if name != "message"}}


class _Sessions:
    """The runs of a file, by session and thread, in the order in which they begin."""

    def __init__(self, agent_id: str, records: list[tuple[str, dict[str, Any]]]) -> None:
        self.runs: dict[tuple[str, str | None], _Run] = {}
        self._agent_id = agent_id
        self._threads = Threads(record for _, record in records)
        self._denied = frozenset(_denied(record for _, record in records))
        self._left = Counter(_answer_of(self._threads, record) for _, record in records)
        self._origin = digest(write_json(records[0][1]).decode())

    def take(self, place: str, record: dict[str, Any]) -> None:
        """Add one record to the run that it belongs to."""
        run = self._run(record)
        run.builder.seen(moment(record.get("timestamp")))
        part = text_or_none(record.get("uuid")) or digest(write_json(record).decode())
        kind = record.get("type")
        if kind not in ("assistant", "user"):
            _other(run.builder, part, record)
            return
        message = a_map(record.get("message"), f"{place}: the message of a record of type {kind!r}")
        add = self._answer if kind == "assistant" else self._given
        add(run, part, record, message)

    def _run(self, record: dict[str, Any]) -> _Run:
        session, thread = self._threads.of(record)
        if (session, thread) not in self.runs:
            self.runs[session, thread] = _Run(self._begun(session, thread, record))
        return self.runs[session, thread]

    def _begun(self, session: str, thread: str | None, record: dict[str, Any]) -> RunBuilder:
        main = run_key(self._agent_id, session or self._origin)
        key = run_key(self._agent_id, session or self._origin, thread) if thread else main
        builder = RunBuilder(key, writer=self._origin)
        told = {name: text_or_none(record.get(name)) for name in ("cwd", "gitBranch", "version", "slug")}
        at = self._threads.began(session, thread)
        metadata = {**told, "format": "claude-code", "isTimed": None if at else False}
        builder.begin(
            told["slug"] or session or None, at=at, metadata=metadata, outer=main if thread else None
        )
        return builder

    def _answer(self, run: _Run, part: str, record: dict[str, Any], message: dict[str, Any]) -> None:
        """One piece of an answer: a session writes a record for each block that arrived, under one message id."""
        named = _message_id(record) or part
        model = text_or_none(message.get("model"))
        if named not in run.calls:
            run.calls[named] = run.builder.call(named, model=ABSENT if model is None else model)
        run.pieces.setdefault(named, []).append(record)
        self._blocks(run.builder, part, record, run.calls[named])
        answer = _answer_of(self._threads, record)
        self._left[answer] -= 1
        if answer is None or not self._left[answer]:
            _finish(run.builder, run.calls[named], run.pieces.pop(named))

    def _given(self, run: _Run, part: str, record: dict[str, Any], message: dict[str, Any]) -> None:
        """What came in: results of tools, and whatever else the message holds as a message."""
        content = message.get("content")
        others = self._blocks(run.builder, part, record, None)
        if others or others == content or others is None:
            told = message if others is None else {**message, "content": others}
            run.builder.tell("message", f"{part} message", {**told, "record": _rest(record)})

    def _blocks(
        self, builder: RunBuilder, part: str, record: dict[str, Any], call: str | None
    ) -> list[Any] | None:
        """Add a message's proposals and results; give the blocks that are neither, None where it has no blocks."""
        content = record["message"].get("content")
        if not isinstance(content, list):
            return None
        others: list[Any] = []
        rest: object = _around(record)
        for index, block in enumerate(content):
            kind = block.get("type") if isinstance(block, dict) else None
            if call and isinstance(kind, str) and kind in _USES:
                _propose(builder, f"{part} block {index}", block, call)
            elif isinstance(kind, str) and kind.endswith("tool_result"):
                self._result(builder, f"{part} block {index}", block, rest if call is None else ABSENT)
                rest = ABSENT
            else:
                others.append(block)
        return others

    def _result(self, builder: RunBuilder, part: str, block: dict[str, Any], record: object) -> None:
        call_id, output = block.get("tool_use_id", ABSENT), block.get("content", ABSENT)
        proposal = builder.proposal_of(call_id)
        failed = block.get("is_error") is True
        by = _denier(output) if failed else None
        if by or (isinstance(call_id, str) and call_id in self._denied):
            builder.deny(part, proposal, reason=output, by=by or "permissions", callId=call_id, record=record)
            return
        execution = builder.execute(part, call_id=call_id, proposal=proposal)
        known = {"type", "tool_use_id", "content", "is_error"}
        more = {name: value for name, value in block.items() if name not in known}
        status = Status.ERROR if failed else Status.OK
        builder.returned(part, execution, output=output, status=status, record=record, block=more or ABSENT)


def _propose(builder: RunBuilder, part: str, block: dict[str, Any], call: str) -> None:
    name, arguments = block.get("name"), block.get("input", ABSENT)
    builder.propose(part, name=name, arguments=arguments, call_id=block.get("id", ABSENT), call=call)


def _finish(builder: RunBuilder, call: str, pieces: list[dict[str, Any]]) -> None:
    """The answer as a whole: as it is where it came in one record, else with the blocks of all of them."""
    messages = [record["message"] for record in pieces]
    whole = messages[-1]
    if len(pieces) > 1:
        held = [message.get("content") for message in messages]
        blocks = [block for each in held if isinstance(each, list) for block in each]
        whole = {**whole, "content": blocks}
    failed = pieces[-1].get("isApiErrorMessage") is True
    builder.answered(
        f"{call} {len(pieces)}",
        call,
        status=Status.ERROR if failed else Status.OK,
        output=builder.answer(whole),
        usage=whole["usage"] if isinstance(whole.get("usage"), dict) else ABSENT,
        error={"type": "api_error", "message": "the session marks this answer as an error"}
        if failed
        else ABSENT,
        records=[_around(record) if len(pieces) > 1 else _rest(record) for record in pieces],
    )


def _other(builder: RunBuilder, part: str, record: dict[str, Any]) -> None:
    """A record that is no message: an event under its own name, whole."""
    kind, subtype = record.get("type"), record.get("subtype")
    name = text_or_none(kind) or "record"
    builder.tell(f"{name}.{subtype}" if name == "system" and isinstance(subtype, str) else name, part, record)
    if kind == "result" and isinstance(record.get("is_error"), bool):
        failed = record["is_error"]
        error = {"type": str(subtype), "message": str(record.get("result") or subtype)}
        builder.end(Status.ERROR if failed else Status.OK, error if failed else ABSENT)


def _rest(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "message"}


def _around(record: dict[str, Any]) -> dict[str, Any]:
    """A piece without its blocks, which are in the whole."""
    held = record["message"]
    is_listed = isinstance(held.get("content"), list)
    kept = {name: value for name, value in held.items() if name != "content"} if is_listed else held
    return {**record, "message": kept}


def _message_id(record: dict[str, Any]) -> str | None:
    message = record.get("message")
    return text_or_none(message.get("id")) if isinstance(message, dict) else None


def _answer_of(threads: Threads, record: dict[str, Any]) -> tuple[object, ...] | None:
    """What the records of one answer share: their run and the message's id. None for a record without one."""
    named = _message_id(record) if record.get("type") == "assistant" else None
    return None if named is None else (*threads.of(record), named)


def _denied(records: Iterator[dict[str, Any]]) -> Iterator[str]:
    """The call ids that the file itself lists as denied."""
    for record in records:
        for each in maps(record.get("permission_denials")):
            if isinstance(each.get("tool_use_id"), str):
                yield each["tool_use_id"]


def _denier(output: object) -> str | None:
    """Who denied the use that a result says was denied: a session has no other mark of it than these sentences."""
    blocks = [text_or_none(each.get("text")) or "" for each in maps(output)]
    text = output if isinstance(output, str) else "".join(blocks)
    if text.startswith(_REJECTED):
        return "user"
    return "permissions" if text.startswith(_NOT_PERMITTED) else None
