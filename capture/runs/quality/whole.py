"""What the quality report asks of the run as a whole: names, context, checkpoints, redaction, streams, its end."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from capture.runs.branching import class_of
from capture.runs.inventory import Inventory, RequestState
from capture.runs.inventory.found import Kind
from capture.runs.pairing import Execution, Moment, Paired, Span
from capture.runs.quality import lines
from capture.runs.quality.lines import Lack, Line
from capture.runs.run import Gap
from capture_sdk.runs.records import EventKind, SideEffect, Status, artifact_refs

_NAMED: Final = {EventKind.RUN_STARTED, EventKind.EVENT, EventKind.CHECKPOINT} | {
    EventKind.TOOL_PROPOSED,
    EventKind.TOOL_STARTED,
}
_BROUGHT: Final = {Kind.RETRIEVAL, Kind.MEMORY}
_HARMLESS: Final = {SideEffect.NONE, SideEffect.READ}


def names(paired: Paired) -> Line:
    """A run has a name and metadata, and whatever can have a name has one."""
    named = [each for each in paired.moments if each.kind in _NAMED]
    lacks = [Lack(each.event_id, "name") for each in named if not each.text("name")]
    start = next((each for each in paired.frame if each.kind == EventKind.RUN_STARTED), None)
    if start is None and paired.moments:
        lacks.insert(0, Lack(None, "run.started, with the run's name and metadata"))
    elif start is not None and "metadata" not in start.fields:
        lacks.append(Lack(start.event_id, "metadata"))
    return lines.NAMES.answer(len(named), lacks)


def context_annotated(context: Inventory) -> Line:
    """What is known to be retrieved or remembered says where it came from."""
    brought = [item for item in context.items if item.kind in _BROUGHT]
    lacks = [
        Lack((item.annotations or (item.call,))[-1], f"provenance of {item.path}")
        for item in brought
        if item.provenance is None
    ]
    return lines.CONTEXT.answer(len(brought), lacks)


def before_decision(paired: Paired) -> Line:
    """A checkpoint stands before the first tool is proposed or has side effects; else before the last call's answer."""
    decision = _first_decision(paired)
    if decision is None:
        return lines.BEFORE_DECISION.answer(0, [])
    stands = any(each.place < decision.place for each in paired.checkpoints)
    lacks = [] if stands else [Lack(decision.event_id, "a checkpoint before it")]
    return lines.BEFORE_DECISION.answer(1, lacks)


def _first_decision(paired: Paired) -> Moment | None:
    acts = [each.start for each in paired.proposals]
    acts += [each.start for each in paired.executions if class_of(each) not in _HARMLESS]
    answers = [each.finish for each in paired.calls if each.finish is not None]
    return (
        min(acts, key=lambda each: each.place)
        if acts
        else max(answers, key=lambda each: each.place, default=None)
    )


def before_effects(paired: Paired) -> Line:
    """Since the last execution that ended, a checkpoint stands before each one that may have side effects."""
    effects = {each.event_id: each for each in paired.executions if class_of(each) not in _HARMLESS}
    ends = {each.finish.event_id for each in effects.values() if each.finish is not None}
    covered, lacks = False, []
    for moment in paired.moments:
        if moment.kind == EventKind.CHECKPOINT:
            covered = True
        elif moment.event_id in ends:
            covered = False  # what it did stands in no checkpoint yet
        elif moment.event_id in effects and not covered:
            lacks.append(Lack(moment.event_id, _effect_lack(effects[moment.event_id])))
    return lines.BEFORE_EFFECT.answer(len(effects), lacks)


def _effect_lack(execution: Execution) -> str:
    unset = "; its class is unset, so that it may have side effects" if class_of(execution) is None else ""
    return f"a checkpoint before it{unset}"


def redaction(paired: Paired) -> Line:
    """Every event names the policy that it left under."""
    bare = [Lack(each.event_id, "policy") for each in paired.moments if not each.event.policy]
    return lines.REDACTION.answer(len(paired.moments), bare)


def streams(paired: Paired) -> Line:
    """Every stream was read to its end."""
    spans: tuple[Span, ...] = (*paired.calls, *paired.executions)
    asked = [(each.event_id, told) for each in spans if (told := _stream(each)) is not None]
    lacks = [Lack(event_id, what) for event_id, what in asked if what]
    return lines.STREAMS.answer(len(asked), lacks)


def _stream(span: Span) -> str | None:
    """What a stream lacks, nothing for a whole one; None where none was recorded."""
    stream = span.finish.fields.get("stream") if span.finish else None
    if span.status == Status.INCOMPLETE or (isinstance(stream, dict) and stream.get("isComplete") is False):
        return "end: it was left before"
    if stream is None:
        return None
    whole = isinstance(stream, dict) and stream.get("isComplete") is True
    return "" if whole else "whether it was read to its end"


def finished(paired: Paired) -> Line:
    """The run's own end, after which nobody resumed it."""
    if not paired.moments:
        return lines.FINISHED.answer(0, [])
    own = [
        each
        for each in paired.frame
        if each.kind != EventKind.RUN_LEFT and each.fields.get("isPart") is not True
    ]
    if any(each.kind == EventKind.RUN_FINISHED for each in own[-1:]):
        return lines.FINISHED.answer(1, [])
    return lines.FINISHED.answer(1, [Lack(None, "run.finished")])


def complete(
    paired: Paired,
    context: Inventory,
    *,
    gaps: Sequence[Gap],
    damaged: Sequence[str],
    losses: Mapping[str, int],
    absent: Collection[str],
) -> Line:
    """All that was emitted is there: events, what they name, and artifacts."""
    lacks = [Lack(None, f"events {gap.first} to {gap.last} of writer {gap.writer}") for gap in gaps]
    lacks += [
        Lack(None, f"{count} events that their writer lost: {reason}") for reason, count in losses.items()
    ]
    lacks += [Lack(each, "the event itself: it cannot be read") for each in damaged]
    lacks += [
        Lack(each.event_id, "its body: it cannot be read") for each in paired.moments if not each.is_readable
    ]
    lacks += [Lack(each.event_id, "what it ends or denies") for each in paired.loose]
    gone = {each.artifact for each in context.calls if each.state is RequestState.NOT_AVAILABLE} | set(absent)
    lacks += _artifacts(paired, gone) if gone else ()
    return lines.COMPLETE.answer(len(paired.moments), lacks)


def _artifacts(paired: Paired, gone: Collection[str | None]) -> Iterator[Lack]:
    for moment in paired.moments:
        for ref in artifact_refs(moment.fields):
            if ref["$artifact"] in gone:
                yield Lack(moment.event_id, f"artifact {ref['$artifact']}")
