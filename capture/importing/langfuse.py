"""Langfuse's trace exports: a trace is a run, its generations are model calls, its tools executions, the rest events.

Inputs and outputs are texts in the export, and stay the very same: as JSON where they are such.
"""

from typing import Any, Final

from capture.importing.building import ABSENT, Reading, RunBuilder, digest, run_key
from capture.importing.errors import FileRefused
from capture.importing.observations import Observation, Step, arranged, steps
from capture.importing.reading import a_list, a_map, maps, moment, text_or_none, write_json
from capture.importing.toolcalls import parsed
from capture_sdk.runs.records import Status

_PROVIDERS: Final = ("gen_ai.provider.name", "gen_ai.system", "ai.model.provider", "llm.provider")
_TOLD: Final = ("sessionId", "userId", "environment", "release", "version")


def read_langfuse(content: Any, agent_id: str) -> Reading:
    """The trace of an export, with its observations beside it or within."""
    held = a_map(content, "it")
    trace = a_map(held["trace"], "trace") if "trace" in held else held
    where = "observations" if "observations" in held else "trace.observations"
    listed = a_list(held.get("observations", trace.get("observations")), where)
    observations = arranged([a_map(each, f"{where}[{index}]") for index, each in enumerate(listed)])
    if not observations and "id" not in trace:
        raise FileRefused("the trace has no id and no observations")
    builder = RunBuilder(_key(agent_id, trace, held))
    _begin(builder, trace, observations, is_inside=trace is held)
    around = {name: value for name, value in held.items() if name not in ("trace", "observations")}
    if around and trace is not held:
        builder.tell("export", "export", around)
    _Trace(builder).take(observations)
    for index, score in enumerate(maps(trace.get("scores"))):
        builder.tell("score", text_or_none(score.get("id")) or f"score {index}", score)
    _end(builder, observations)
    return Reading((builder.build(),))


def _key(agent_id: str, trace: dict[str, Any], held: dict[str, Any]) -> Any:
    return run_key(agent_id, text_or_none(trace.get("id")) or digest(write_json(held).decode()))


def _begin(
    builder: RunBuilder, trace: dict[str, Any], observations: list[Observation], *, is_inside: bool
) -> None:
    times = [moment(trace.get("timestamp")), *(each.started_at for each in observations)]
    at = min(filter(None, times), default=None)
    told = {name: text_or_none(trace.get(name)) for name in _TOLD}
    metadata = {**told, "format": "langfuse", "isTimed": None if at else False}
    builder.begin(text_or_none(trace.get("name")), at=at, metadata=metadata)
    without = {"scores"} | ({"observations"} if is_inside else set())
    builder.tell("trace", "trace", {name: value for name, value in trace.items() if name not in without})


def _end(builder: RunBuilder, observations: list[Observation]) -> None:
    """A trace has ended when all that stands at its top has; it says no more of itself."""
    tops = [each for each in observations if each.parent is None]
    if not tops or not all(each.ended_at for each in tops):
        return
    failed = next((each for each in tops if each.has_failed), None)
    builder.end(Status.ERROR if failed else Status.OK, _error(failed) if failed else ABSENT)


class _Trace:
    """Adds observations to a run, step by step."""

    def __init__(self, builder: RunBuilder) -> None:
        self._builder = builder
        self._opened: dict[int, str] = {}

    def take(self, observations: list[Observation]) -> None:
        """Add all of them in their order."""
        for step, each in steps(observations):
            self._builder.seen(each.ended_at if step is Step.END else each.started_at)
            if step is Step.PROPOSE:
                self._propose(each)
            elif step is Step.BEGIN:
                self._opened[id(each)] = self._begin(each)
            elif each.type == "generation":
                self._answer(each)
            elif each.is_execution:
                self._return(each)

    def _begin(self, each: Observation) -> str:
        parent = self._opened[id(each.parent)] if each.parent else None
        if each.type == "generation":
            return self._builder.call(each.id, parent=parent, **self._asked(each))
        if each.is_execution:
            return self._execute(each, parent)
        return self._builder.tell(each.type, each.id, each.raw, parent=parent)

    def _asked(self, each: Observation) -> dict[str, object]:
        told = (text_or_none(each.attributes.get(name)) for name in _PROVIDERS)
        params = each.raw.get("modelParameters")
        return {
            "provider": next(filter(None, told), ABSENT),
            "model": text_or_none(each.raw.get("model")) or ABSENT,
            "request": self._payload(each.raw.get("input")),
            "params": params if isinstance(params, dict) else ABSENT,
        }

    def _propose(self, each: Observation) -> None:
        for number, call in enumerate(each.proposed):
            self._builder.propose(
                f"{each.id} tool {number}",
                name=call.name,
                arguments=call.arguments,
                call_id=call.call_id or ABSENT,
                call=self._opened[id(each)],
            )

    def _answer(self, each: Observation) -> None:
        usage = each.raw.get("usageDetails") or each.raw.get("usage")
        self._builder.answered(
            each.id,
            self._opened[id(each)],
            status=Status.ERROR if each.has_failed else Status.OK,
            output=self._payload(each.raw.get("output")),
            usage=usage if isinstance(usage, dict) else ABSENT,
            error=_error(each) if each.has_failed else ABSENT,
            record=_rest(each),
        )

    def _execute(self, each: Observation, parent: str | None) -> str:
        builder, named = self._builder, each.call_id
        proposal = builder.proposal_of(named) if named and builder.is_proposed(named) else None
        if proposal is None and _is_only_call(each):
            proposal = builder.proposal_of(ABSENT, each.tool)
        return builder.execute(
            each.id,
            call_id=named or ABSENT,
            name=each.tool,
            proposal=proposal,
            arguments=each.raw.get("input", ABSENT),
            parent=parent,
        )

    def _return(self, each: Observation) -> None:
        self._builder.returned(
            each.id,
            self._opened[id(each)],
            output=each.raw.get("output", ABSENT),
            status=Status.ERROR if each.has_failed else Status.OK,
            error=_error(each) if each.has_failed else ABSENT,
            record=_rest(each),
        )

    def _payload(self, value: object) -> object:
        """A request or an answer; the export writes null where it has none."""
        if value is None:
            return ABSENT
        if isinstance(value, str) and isinstance(parsed(value), dict | list):
            return self._builder.kept(value.encode("utf-8", "surrogatepass"), "application/json")
        return self._builder.answer(value)


def _is_only_call(each: Observation) -> bool:
    """Whether an execution lies within the generation that asked for this one tool, and for no other, without an id."""
    asked = each.parent.proposed if each.parent else []
    return len(asked) == 1 and asked[0].call_id is None and asked[0].name == each.tool


def _rest(each: Observation) -> dict[str, Any]:
    return {name: value for name, value in each.raw.items() if name not in ("input", "output")}


def _error(each: Observation) -> dict[str, object]:
    return {"type": "error", "message": text_or_none(each.raw.get("statusMessage")) or ""}
