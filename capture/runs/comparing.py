"""Two runs compared: what they did, step by step, what their models were given, and how they ended. Pure.

Steps are model calls, proposals, executions, checkpoints and named events, in their order. Two of one kind and name
may be the same step; which fields differ is told, those that one of them lacks among them.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from capture.limits import COMPARED_ITEMS
from capture.runs.aligning import Alignment, align
from capture.runs.branching import place_of
from capture.runs.inventory import Inventory, Item
from capture.runs.inventory.found import is_ref
from capture.runs.inventory.items import measured
from capture.runs.pairing import Execution, ModelCall, Moment, Paired, Proposal
from capture.runs.run import RunStatus
from capture_sdk.freeze import jsonable
from capture_sdk.runs.records import EventKind

_ABSENT: Final = object()


class Change(StrEnum):
    """What became of a step, or an item, from the one run to the other."""

    SAME = "same"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of either run or of both, by the ids of their first events. ``fields`` are those that differ."""

    change: Change
    kind: str
    name: str | None
    one: str | None
    other: str | None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item that differs between two model calls that were laid side by side; None: between the annotations."""

    change: Change
    path: str
    kind: str
    one_call: str | None
    other_call: str | None
    one_sha256: str | None
    other_sha256: str | None


@dataclass(frozen=True, slots=True)
class Items:
    """Two inventories: how many items were the same, changed, added and removed, and the first that differ.

    ``unlisted`` are calls of which either run's request is not there to be compared.
    """

    same: int
    changed: int
    added: int
    removed: int
    rows: tuple[ItemRow, ...]
    unlisted: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, and the name that it goes by."""

    name: str | None
    status: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run beside another. ``left`` are the steps of each that were not compared, for there were too many."""

    one: Ending
    other: Ending
    rows: tuple[StepRow, ...]
    left: tuple[int, int]
    items: Items

    @property
    def counts(self) -> Mapping[str, int]:
        """Steps by what became of them."""
        return {change.value: sum(row.change is change for row in self.rows) for change in Change}

    @property
    def is_cut(self) -> bool:
        """Whether something was left out for its size."""
        items = self.items
        return any(self.left) or len(items.rows) < items.changed + items.added + items.removed


@dataclass(frozen=True, slots=True)
class _Step:
    start: Moment
    kind: str
    name: str | None
    fields: Mapping[str, Any]


def compare(one: Paired, other: Paired, inventories: tuple[Inventory, Inventory]) -> Comparison:
    """Lay ``other`` beside ``one``: added is what ``other`` alone has, removed what it lacks."""
    left, right = _steps(one), _steps(other)
    keys = [[(step.kind, step.name) for step in steps] for steps in (left, right)]
    differing = _Differing(left, right)
    aligned = align(keys[0], keys[1], lambda a, b: not differing.between(a, b))
    return Comparison(
        one=_ending(one),
        other=_ending(other),
        rows=tuple(_rows(left, right, aligned, differing)),
        left=aligned.left,
        items=_items(_met_calls(left, right, aligned), inventories),
    )


class _Differing:
    """Which fields of two steps differ; each two are looked at once."""

    def __init__(self, one: Sequence[_Step], other: Sequence[_Step]) -> None:
        self._one = [_told(step.fields) for step in one]
        self._other = [_told(step.fields) for step in other]

    def between(self, one: int, other: int) -> tuple[str, ...]:
        """Their names, in the order in which the first has them."""
        left, right = self._one[one], self._other[other]
        if left == right:
            return ()
        return tuple(name for name in {**left, **right} if left.get(name) != right.get(name))


def _told(fields: Mapping[str, Any]) -> dict[str, str]:
    """Each field as a short text that is equal for equal values, an artifact being equal to its text."""
    return {name: _digest(value) for name, value in fields.items() if value is not _ABSENT}


def _digest(value: object) -> str:
    if isinstance(value, str) or is_ref(value):
        return measured(value)[1]
    return "json:" + json.dumps(jsonable(value), sort_keys=True)


def _steps(paired: Paired) -> list[_Step]:
    found = [
        *map(_of_call, paired.calls),
        *map(_of_proposal, paired.proposals),
        *map(_of_execution, paired.executions),
        *map(_of_checkpoint, paired.checkpoints),
        *(_Step(each, each.kind, each.text("name"), _some(each.fields, "data")) for each in paired.events),
    ]
    return sorted(found, key=lambda step: step.start.place)


def _of_call(call: ModelCall) -> _Step:
    told = _some(call.start.fields, "provider", "model", "operation", "request", "params", "settings")
    ended = call.finish.fields if call.finish else {}
    told |= {"status": call.status} | _some(ended, "output", "usage", "logprobs", "error")
    return _Step(call.start, "model_call", call.start.text("operation"), told)


def _of_proposal(proposal: Proposal) -> _Step:
    told = _some(proposal.start.fields, "arguments", "description", "schema")
    told |= {"denials": len(proposal.denials), "executions": len(proposal.executions)}
    return _Step(proposal.start, "tool_proposal", proposal.name, told)


def _of_execution(execution: Execution) -> _Step:
    told = _some(execution.start.fields, "arguments", "sideEffect")
    ended = execution.finish.fields if execution.finish else {}
    told |= {"status": execution.status} | _some(ended, "output", "error")
    return _Step(execution.start, "tool_execution", execution.name, told)


def _of_checkpoint(checkpoint: Moment) -> _Step:
    told = _some(checkpoint.fields, "name", "state", "isWhole")
    return _Step(checkpoint, "checkpoint", place_of(checkpoint) or checkpoint.text("name"), told)


def _some(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: fields.get(name, _ABSENT) for name in names}


def _rows(
    one: Sequence[_Step], other: Sequence[_Step], aligned: Alignment, differing: _Differing
) -> Iterator[StepRow]:
    for left, right in aligned.pairs:
        if left is not None and right is not None:
            fields = differing.between(left, right)
            step, ids = one[left], (one[left].start.event_id, other[right].start.event_id)
            change = Change.CHANGED if fields else Change.SAME
            yield StepRow(change, step.kind, step.name, *ids, fields=fields)
        elif left is not None:
            yield StepRow(Change.REMOVED, one[left].kind, one[left].name, one[left].start.event_id, None)
        elif right is not None:
            yield StepRow(
                Change.ADDED, other[right].kind, other[right].name, None, other[right].start.event_id
            )


def _met_calls(one: Sequence[_Step], other: Sequence[_Step], aligned: Alignment) -> Iterator[tuple[str, str]]:
    for left, right in aligned.pairs:
        if left is not None and right is not None and one[left].kind == "model_call":
            yield one[left].start.event_id, other[right].start.event_id


def _items(calls: Iterable[tuple[str, str]], inventories: tuple[Inventory, Inventory]) -> Items:
    contexts = [{each.call: each for each in held.calls} for held in inventories]
    counts = dict.fromkeys(Change, 0)
    rows: list[ItemRow] = []
    unlisted = []
    for one, other in calls:
        left, right = contexts[0].get(one), contexts[1].get(other)
        if left is None or right is None or not (left.items and right.items):
            unlisted.append((one, other))
            continue
        rows += _counted(_of_items(left.items, right.items), counts, len(rows))
    rows += _counted(_of_items(inventories[0].alone, inventories[1].alone), counts, len(rows))
    return Items(
        same=counts[Change.SAME],
        changed=counts[Change.CHANGED],
        added=counts[Change.ADDED],
        removed=counts[Change.REMOVED],
        rows=tuple(rows),
        unlisted=tuple(unlisted),
    )


def _counted(rows: Iterable[ItemRow], counts: dict[Change, int], listed: int) -> Iterator[ItemRow]:
    for row in rows:
        counts[row.change] += 1
        if row.change is not Change.SAME and listed < COMPARED_ITEMS:
            listed += 1
            yield row


def _of_items(one: Sequence[Item], other: Sequence[Item]) -> Iterator[ItemRow]:
    left, right = _by_path(one), _by_path(other)
    for place in {**left, **right}:
        a, b = left.get(place), right.get(place)
        yield ItemRow(
            change=_change(a, b),
            path=place[0],
            kind=next(each.kind for each in (a, b) if each),
            one_call=a.call if a else None,
            other_call=b.call if b else None,
            one_sha256=a.sha256 if a else None,
            other_sha256=b.sha256 if b else None,
        )


def _by_path(items: Iterable[Item]) -> dict[tuple[str, int], Item]:
    """Items by path; annotations may share one, and are told apart by their order."""
    times: Counter[str] = Counter()
    found = {}
    for item in items:
        found[item.path, times[item.path]] = item
        times[item.path] += 1
    return found


def _change(one: Item | None, other: Item | None) -> Change:
    if one is None or other is None:
        return Change.ADDED if one is None else Change.REMOVED
    return Change.SAME if (one.sha256, one.kind) == (other.sha256, other.kind) else Change.CHANGED


def _ending(paired: Paired) -> Ending:
    """By the order of emission: the last end of its own, unless the run was resumed after it."""
    start = next((each for each in paired.frame if each.kind == EventKind.RUN_STARTED), None)
    own = [
        each
        for each in paired.frame
        if each.kind != EventKind.RUN_LEFT and each.fields.get("isPart") is not True
    ]
    last = own[-1] if own and own[-1].kind == EventKind.RUN_FINISHED else None
    told = last.text("status") if last else None
    return Ending(
        start.text("name") if start else None, told if told in set(RunStatus) else RunStatus.UNFINISHED.value
    )
