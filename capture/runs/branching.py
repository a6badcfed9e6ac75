"""Where a replay of a run can safely branch off, and why not elsewhere. Pure.

A checkpoint is safe where its state is whole, no irreversible execution lies before it, and nothing was under way.
What was not captured makes it neither safe nor unsafe: that it *cannot be said* is said.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from capture.limits import BRANCH_EVENTS
from capture.runs.pairing import Execution, Moment, Paired, Span
from capture.runs.run import Gap
from capture_sdk.runs.records import EventKind, Place, SideEffect, Status

LETS_TEST: Final[Mapping[Place, str]] = {
    Place.INPUT_LOADED: "other prompts, models, settings and retrieval on the very same task and state",
    Place.BEFORE_TOOL: "another decision at a risky call: other arguments, another tool, a denial, a stub in its place",
    Place.AFTER_TOOL: "another reading of the same output, or another output, without calling the tool again",
    Place.BEFORE_FINAL: "another answer, or a check of it, from all that was gathered, before anything takes effect",
}
_EFFECTS: Final = {SideEffect.WRITE, SideEffect.EXTERNAL}
_CLASSES: Final = frozenset(str(each) for each in SideEffect)


class Verdict(StrEnum):
    """Whether a replay can branch off at a checkpoint."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    CANNOT_SAY = "cannot_say"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why, with the first events that it is about and how many they are. ``verdict`` is what it makes of a point.

    A reason that leaves a point safe is one to know of.
    """

    verdict: Verdict
    text: str
    events: tuple[str, ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """One checkpoint: what it is called, which of the four places it says it stands at, and the verdict."""

    event_id: str
    position: int
    name: str | None
    place: str | None
    verdict: Verdict
    reasons: tuple[Reason, ...]

    @property
    def is_safe(self) -> bool:
        """Whether a replay can branch off here."""
        return self.verdict is Verdict.SAFE


@dataclass(frozen=True, slots=True)
class PlaceUse:
    """One of the four places of a good checkpoint strategy, what it lets one test, and a run's checkpoints there."""

    place: str
    lets_test: str
    events: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """What is taken for the cause of a failure: the event, where it began, and why it is suspected."""

    event_id: str
    position: int
    why: str


@dataclass(frozen=True, slots=True)
class Branching:
    """A run's checkpoints as branch points, the four places, and what is to be warned of."""

    points: tuple[BranchPoint, ...]
    places: tuple[PlaceUse, ...]
    warnings: tuple[Reason, ...]
    suspect: Suspect | None


def branching(
    paired: Paired, *, gaps: Sequence[Gap] = (), damaged: Sequence[str] = (), suspect: str | None = None
) -> Branching:
    """Judge each checkpoint. ``suspect`` names the event that a failure is put down to: else the first error or denial.

    ``gaps`` and ``damaged`` are what is missing of the run: what is not there may have been an execution.
    """
    suspected = _suspect(paired, suspect)
    return Branching(
        points=tuple(_points(paired, gaps, damaged)),
        places=tuple(_place_use(place, paired.checkpoints) for place in Place),
        warnings=tuple(_warnings(paired, suspected, suspect)),
        suspect=suspected,
    )


def place_of(checkpoint: Moment) -> str | None:
    """The place that a checkpoint says it stands at, by its place or else its name."""
    name = checkpoint.text("name")
    return checkpoint.text("place") or (name if name in set(Place) else None)


def class_of(execution: Execution) -> SideEffect | None:
    """An execution's side-effect class; None where it is unset, or a word that is none."""
    told = execution.side_effect
    return SideEffect(told) if told in _CLASSES else None


@dataclass(slots=True)
class _Sofar:
    """What lies before a place, as the events are walked through in their order."""

    irreversible: list[str]
    unset: list[str]
    effects: list[str]
    running: dict[str, str]  # the start's id by the finish's, or by its own while there is none


def _points(paired: Paired, gaps: Sequence[Gap], damaged: Sequence[str]) -> Iterator[BranchPoint]:
    executions = {each.event_id: each for each in paired.executions}
    latest, missing = _latest(paired.executions), _Missing(gaps, damaged)
    sofar = _Sofar([], [], [], {})
    for moment in paired.moments:
        if moment.kind == EventKind.CHECKPOINT:
            found = [*_of_state(moment), *_of_executions(sofar), *_of_others(moment, latest)]
            yield _point(moment, [*found, *missing.before(moment)])
        elif moment.event_id in executions and moment.kind == EventKind.TOOL_STARTED:
            _begin(executions[moment.event_id], sofar)
        else:
            sofar.running.pop(moment.event_id, None)


def _begin(execution: Execution, sofar: _Sofar) -> None:
    effect = class_of(execution)
    if effect is SideEffect.IRREVERSIBLE:
        sofar.irreversible.append(execution.event_id)
    elif effect is None:
        sofar.unset.append(execution.event_id)
    elif effect in _EFFECTS:
        sofar.effects.append(execution.event_id)
    finish = execution.finish
    if finish is None or finish.place > execution.start.place:
        sofar.running[(finish or execution.start).event_id] = execution.event_id


def _point(checkpoint: Moment, reasons: Sequence[Reason]) -> BranchPoint:
    verdicts = {reason.verdict for reason in reasons}
    worst = next((each for each in (Verdict.UNSAFE, Verdict.CANNOT_SAY) if each in verdicts), Verdict.SAFE)
    good = Reason(
        Verdict.SAFE, "its state is whole, nothing irreversible lies before it, and nothing was under way"
    )
    return BranchPoint(
        event_id=checkpoint.event_id,
        position=checkpoint.place,
        name=checkpoint.text("name"),
        place=place_of(checkpoint),
        verdict=worst,
        reasons=(good, *reasons) if worst is Verdict.SAFE else tuple(reasons),
    )


def _of_state(checkpoint: Moment) -> Iterator[Reason]:
    fields = checkpoint.fields
    if "state" not in fields:
        yield Reason(Verdict.UNSAFE, "its state was not captured")
    elif fields.get("isWhole") is False:
        yield Reason(Verdict.UNSAFE, "its state is said not to be all that a replay needs")
    elif fields.get("isWhole") is not True:
        yield Reason(Verdict.CANNOT_SAY, "nothing says that its state is all that a replay needs")


def _of_executions(sofar: _Sofar) -> Iterator[Reason]:
    yield from _about(sofar.irreversible, Verdict.UNSAFE, "irreversible executions lie before it")
    yield from _about(sofar.running.values(), Verdict.UNSAFE, "executions were under way")
    unset = "executions whose side-effect class is unset lie before it"
    yield from _about(sofar.unset, Verdict.CANNOT_SAY, unset)
    effects = "executions that wrote or reached outside lie before it: a replay meets what they left"
    yield from _about(sofar.effects, Verdict.SAFE, effects)


def _of_others(checkpoint: Moment, latest: Sequence[Execution]) -> Iterator[Reason]:
    """Between two writers the order is that of arrival: what arrived later may have happened before."""
    others = [each for each in latest if each.start.event.writer != checkpoint.event.writer]
    later = [each.event_id for each in others if each.start.place > checkpoint.place]
    text = "irreversible executions of another writer, which may have come before it"
    yield from _about(later, Verdict.CANNOT_SAY, text)


def _latest(executions: Iterable[Execution]) -> list[Execution]:
    """The last irreversible execution and the last of another writer: one of them is another's than any given."""
    found = [each for each in executions if class_of(each) is SideEffect.IRREVERSIBLE]
    last = found[-1:]
    others = (each for each in reversed(found) if each.start.event.writer != last[0].start.event.writer)
    return [*last, *islice(others, 1)]


class _Missing:
    """How many events are missing that may have come before a checkpoint: each is asked in no time."""

    def __init__(self, gaps: Sequence[Gap], damaged: Sequence[str]) -> None:
        self._damaged = damaged
        self._total = sum(map(_length, gaps))
        self._firsts: dict[str, list[int]] = {}
        self._sums: dict[str, list[int]] = {}
        for gap in sorted(gaps, key=lambda each: (each.writer, each.first)):
            self._firsts.setdefault(gap.writer, []).append(gap.first)
            self._sums.setdefault(gap.writer, [0]).append(self._sums[gap.writer][-1] + _length(gap))

    def before(self, checkpoint: Moment) -> Iterator[Reason]:
        """All that other writers miss, and of its own writer what has a lower number."""
        writer, sums = checkpoint.event.writer, self._sums.get(checkpoint.event.writer, [0])
        own = bisect_left(self._firsts.get(writer, []), checkpoint.event.sequence)
        count = self._total - sums[-1] + sums[own]
        if count:
            text = "events are missing that may have been executions before it"
            yield Reason(Verdict.CANNOT_SAY, text, count=count)
        text = "events cannot be read that may have been executions before it"
        yield from _about(self._damaged, Verdict.CANNOT_SAY, text)


def _length(gap: Gap) -> int:
    return gap.last - gap.first + 1


def _about(events: Collection[str], verdict: Verdict, text: str) -> Iterator[Reason]:
    if events:
        yield Reason(verdict, text, tuple(islice(events, BRANCH_EVENTS)), len(events))


def _place_use(place: Place, checkpoints: Sequence[Moment]) -> PlaceUse:
    there = [each.event_id for each in checkpoints if place_of(each) == place]
    return PlaceUse(place.value, LETS_TEST[place], tuple(there[:BRANCH_EVENTS]), len(there))


def _warnings(paired: Paired, suspected: Suspect | None, wanted: str | None) -> Iterator[Reason]:
    if wanted is not None and suspected is None:
        yield Reason(Verdict.CANNOT_SAY, "the suspected event is not one of this run's", (wanted,), 1)
    if not paired.checkpoints:
        yield Reason(Verdict.UNSAFE, "there is no checkpoint: a replay can only begin anew")
        return
    first = paired.checkpoints[0]
    decisions = [each.place for each in decisions_of(paired)]
    if decisions and first.place > decisions[-1]:
        yield Reason(
            Verdict.UNSAFE, "all checkpoints lie at the end, after the last decision", (first.event_id,), 1
        )
    if suspected is not None and first.place > suspected.position:
        text = f"all checkpoints lie after the suspected cause ({suspected.why})"
        yield Reason(Verdict.UNSAFE, text, (suspected.event_id, first.event_id), 2)


def decisions_of(paired: Paired) -> list[Moment]:
    """Where the run decided something, in order: models were called, tools proposed and executed."""
    spans: tuple[Span, ...] = (*paired.calls, *paired.executions)
    found = [each.start for each in spans] + [each.start for each in paired.proposals]
    return sorted(found, key=lambda each: each.place)


def _suspect(paired: Paired, wanted: str | None) -> Suspect | None:
    begins = _begins(paired)
    if wanted is not None:
        found = next((each for each in paired.moments if each.event_id == wanted), None)
        return None if found is None else Suspect(wanted, begins.get(wanted, found.place), "named")
    for moment in paired.moments:
        why = _why_suspect(moment)
        if why is not None:
            return Suspect(moment.event_id, begins.get(moment.event_id, moment.place), why)
    return None


def _why_suspect(moment: Moment) -> str | None:
    if moment.kind == EventKind.TOOL_DENIED:
        return "the first denial"
    ended = moment.kind.endswith(".finished") or moment.kind == EventKind.RUN_LEFT
    return "the first error" if ended and moment.text("status") == Status.ERROR else None


def _begins(paired: Paired) -> Mapping[str, int]:
    """Where that began which an event ended, for an error lies in the whole of it; a denial, in what was proposed."""
    spans: tuple[Span, ...] = (*paired.calls, *paired.executions)
    found = {each.finish.event_id: each.start.place for each in spans if each.finish is not None}
    found |= {denial.event_id: each.start.place for each in paired.proposals for denial in each.denials}
    return found
