"""Which events of a run belong together: starts with their finishes, proposals with what became of them. Pure.

Events are paired by the ids that they name, and by nothing else: a tool's name, the time or the neighbourhood never
join two. What names nothing that is there stays by itself, and is seen as that.
"""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from capture_sdk.runs.records import EventKind, RunEvent

_FRAME: Final = {EventKind.RUN_STARTED, EventKind.RUN_RESUMED, EventKind.RUN_LEFT, EventKind.RUN_FINISHED}


@dataclass(frozen=True, slots=True)
class Moment:
    """One event at its place in the order of emission, its body thawed once. ``is_readable``: whether it was one."""

    event: RunEvent
    place: int
    fields: Mapping[str, Any]
    is_readable: bool = True

    @property
    def event_id(self) -> str:
        """The client's id of the event."""
        return self.event.event_id

    @property
    def kind(self) -> str:
        """What the event tells, known here or not."""
        return self.event.kind

    def text(self, name: str) -> str | None:
        """A field that is to be a text; None where it is absent or something else."""
        found = self.fields.get(name)
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True)
class Span:
    """A start and its finish, None while there is none. ``repeats`` are further finishes: the first counts."""

    start: Moment
    finish: Moment | None
    repeats: tuple[Moment, ...]

    @property
    def event_id(self) -> str:
        """The id of the start, by which others name the whole."""
        return self.start.event_id

    @property
    def is_open(self) -> bool:
        """Whether nothing tells that it ended."""
        return self.finish is None

    @property
    def status(self) -> str | None:
        """How it ended, in the recorder's word; None where nothing tells."""
        return self.finish.text("status") if self.finish else None

    @property
    def duration_ms(self) -> int | None:
        """Milliseconds by the clock of the writer of both; None for two writers, or a clock that went back."""
        return _duration_ms(self.start.event, self.finish.event if self.finish else None)


@dataclass(frozen=True, slots=True)
class ModelCall(Span):
    """One call of a model, and the tools that it proposed."""

    proposals: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class Execution(Span):
    """One execution of a tool.

    ``proposal`` is what it carried out, None without one. ``candidates`` are proposals that share its call id where
    there are several: which of them it was cannot be said, so none is taken.
    """

    proposal: Moment | None
    candidates: tuple[Moment, ...]

    @property
    def name(self) -> str | None:
        """The tool's name."""
        return self.start.text("name")

    @property
    def side_effect(self) -> str | None:
        """What the tool does to the world, as its caller said; None where nobody did."""
        return self.start.text("sideEffect")


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposed use of a tool: who denied it, and the executions that carried it out, retries among them."""

    start: Moment
    denials: tuple[Moment, ...]
    executions: tuple[Execution, ...]

    @property
    def event_id(self) -> str:
        """The proposal's own id."""
        return self.start.event_id

    @property
    def name(self) -> str | None:
        """The tool's name."""
        return self.start.text("name")


@dataclass(frozen=True, slots=True)
class Paired:
    """A run's events, each in exactly one of the lists below ``moments``, which has all of them in their order.

    ``frame`` are the run's own starts and ends, ``loose`` finishes and denials that name nothing that is there,
    ``unknown`` kinds that this reader does not know.
    """

    moments: tuple[Moment, ...]
    calls: tuple[ModelCall, ...]
    proposals: tuple[Proposal, ...]
    executions: tuple[Execution, ...]
    checkpoints: tuple[Moment, ...]
    annotations: tuple[Moment, ...]
    events: tuple[Moment, ...]
    frame: tuple[Moment, ...]
    loose: tuple[Moment, ...]
    unknown: tuple[Moment, ...]

    @property
    def unproposed(self) -> tuple[Execution, ...]:
        """Executions without a proposal."""
        return tuple(each for each in self.executions if each.proposal is None)

    @property
    def unexecuted(self) -> tuple[Proposal, ...]:
        """Proposals that nothing carried out, denied ones among them."""
        return tuple(each for each in self.proposals if not each.executions)


_Kinds = Mapping[str, Sequence[Moment]]


def pair(events: Iterable[RunEvent]) -> Paired:
    """Join what belongs together. One pass over the events; whichever of two arrived first makes no difference."""
    moments = tuple(_moment(event, place) for place, event in enumerate(events))
    kinds: defaultdict[str, list[Moment]] = defaultdict(list)
    for moment in moments:
        kinds[moment.kind].append(moment)
    executions = _executions(kinds)
    calls = _calls(kinds)
    proposals = _proposals(kinds, executions)
    return Paired(
        moments=moments,
        calls=calls,
        proposals=proposals,
        executions=executions,
        checkpoints=tuple(kinds[EventKind.CHECKPOINT]),
        annotations=tuple(kinds[EventKind.CONTEXT_ANNOTATED]),
        events=tuple(kinds[EventKind.EVENT]),
        frame=tuple(each for each in moments if each.kind in _FRAME),
        loose=_loose(kinds, [*calls, *executions], proposals),
        unknown=tuple(each for each in moments if each.kind not in _KNOWN),
    )


_KNOWN: Final = frozenset(str(kind) for kind in EventKind)


def _moment(event: RunEvent, place: int) -> Moment:
    try:
        return Moment(event, place, event.fields)
    except (ValueError, OverflowError, RecursionError):
        return Moment(event, place, {}, is_readable=False)


def _naming(moments: Iterable[Moment], field: str) -> Mapping[str, list[Moment]]:
    """The moments by the id that they name in ``field``."""
    found: defaultdict[str, list[Moment]] = defaultdict(list)
    for moment in moments:
        named = moment.text(field)
        if named is not None:
            found[named].append(moment)
    return found


def _calls(kinds: _Kinds) -> tuple[ModelCall, ...]:
    ends = _naming(kinds[EventKind.MODEL_CALL_FINISHED], "call")
    proposed = _naming(kinds[EventKind.TOOL_PROPOSED], "call")
    starts = kinds[EventKind.MODEL_CALL_STARTED]
    return tuple(
        ModelCall(start, *_ends(ends, start), proposals=tuple(proposed.get(start.event_id, ())))
        for start in starts
    )


def _executions(kinds: _Kinds) -> tuple[Execution, ...]:
    ends = _naming(kinds[EventKind.TOOL_FINISHED], "execution")
    proposals = {each.event_id: each for each in kinds[EventKind.TOOL_PROPOSED]}
    by_call_id = _naming(proposals.values(), "callId")
    found = []
    for start in kinds[EventKind.TOOL_STARTED]:
        proposal, candidates = _carried_out(start, proposals, by_call_id)
        found.append(Execution(start, *_ends(ends, start), proposal=proposal, candidates=candidates))
    return tuple(found)


def _carried_out(
    start: Moment, proposals: Mapping[str, Moment], by_call_id: Mapping[str, list[Moment]]
) -> tuple[Moment | None, tuple[Moment, ...]]:
    """The proposal that an execution names; else the one that has its call id, where no other has it too."""
    named = start.text("proposal")
    if named is not None:
        return proposals.get(named), ()
    call_id = start.text("callId")
    sharing = by_call_id.get(call_id, ()) if call_id else ()  # an empty id names nothing
    return (sharing[0], ()) if len(sharing) == 1 else (None, tuple(sharing))


def _ends(ends: Mapping[str, list[Moment]], start: Moment) -> tuple[Moment | None, tuple[Moment, ...]]:
    found = ends.get(start.event_id, ())
    return (found[0], tuple(found[1:])) if found else (None, ())


def _proposals(kinds: _Kinds, executions: Sequence[Execution]) -> tuple[Proposal, ...]:
    denials = _naming(kinds[EventKind.TOOL_DENIED], "proposal")
    carried: defaultdict[str, list[Execution]] = defaultdict(list)
    for execution in executions:
        if execution.proposal is not None:
            carried[execution.proposal.event_id].append(execution)
    return tuple(
        Proposal(start, tuple(denials.get(start.event_id, ())), tuple(carried.get(start.event_id, ())))
        for start in kinds[EventKind.TOOL_PROPOSED]
    )


def _loose(kinds: _Kinds, spans: Iterable[Span], proposals: Iterable[Proposal]) -> tuple[Moment, ...]:
    paired = {each.event_id for span in spans for each in (span.finish, *span.repeats) if each is not None}
    paired.update(denial.event_id for proposal in proposals for denial in proposal.denials)
    ends = (EventKind.MODEL_CALL_FINISHED, EventKind.TOOL_FINISHED, EventKind.TOOL_DENIED)
    found = [each for kind in ends for each in kinds[kind] if each.event_id not in paired]
    return tuple(sorted(found, key=lambda each: each.place))


def _duration_ms(start: RunEvent, finish: RunEvent | None) -> int | None:
    if finish is None or finish.writer != start.writer or _is_naive(start.at) != _is_naive(finish.at):
        return None  # two clocks tell no duration
    taken = finish.at - start.at
    return round(taken / datetime.timedelta(milliseconds=1)) if taken >= datetime.timedelta() else None


def _is_naive(moment: datetime.datetime) -> bool:
    return moment.utcoffset() is None
