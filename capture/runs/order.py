"""Stored events in the order of emission, and what can be said of them as a whole. Pure.

Clocks decide nothing: events stand in their order of arrival, and those of each writer, among the places that they
have in it, in the writer's own order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from capture.runs.run import Gap, RunStatus
from capture.runs.soundness import check_event
from capture_sdk.errors import RecordError
from capture_sdk.runs.records import EventKind, RunEvent, RunKey, decode_event


@dataclass(frozen=True, slots=True)
class HeldEvent:
    """An event as a store holds it; ``event`` is None where its bytes do not read as the event of that id."""

    event_id: str
    arrival: int
    raw: bytes
    event: RunEvent | None


def opened(key: RunKey, event_id: str | None, arrival: int, raw: bytes) -> HeldEvent:
    """The stored event, if its bytes say that it belongs where it was found. Without an id, its own is believed."""
    try:
        event = decode_event(raw)
        check_event(event)
    except RecordError:
        return HeldEvent(event_id or "", arrival, raw, None)
    is_there = event.run == key and event_id in (None, event.event_id)
    return HeldEvent(
        event.event_id if event_id is None else event_id, arrival, raw, event if is_there else None
    )


def in_order(held: Iterable[HeldEvent]) -> list[RunEvent]:
    """The events that can be read, in the order of emission."""
    arrived = [each.event for each in by_arrival(held) if each.event is not None]
    own: dict[str, list[RunEvent]] = {}
    for event in arrived:
        own.setdefault(event.writer, []).append(event)
    turns = {writer: iter(sorted(mine, key=_sequence)) for writer, mine in own.items()}
    return [next(turns[event.writer]) for event in arrived]


def by_arrival(held: Iterable[HeldEvent]) -> list[HeldEvent]:
    """The same events as they arrived."""
    return sorted(held, key=lambda each: (each.arrival, each.event_id))


def marks(held: Iterable[HeldEvent]) -> list[HeldEvent]:
    """Those of them that tell when the run began and whether it is over: a few, where a run may have thousands."""
    return [each for each in held if each.event is not None and each.event.kind in _MARKS]


def gaps(events: Iterable[RunEvent]) -> Iterator[Gap]:
    """The sequence numbers that each writer gave and that did not arrive."""
    own: dict[str, list[RunEvent]] = {}
    for event in events:
        own.setdefault(event.writer, []).append(event)
    for writer, mine in own.items():
        mine.sort(key=_sequence)
        if mine[0].sequence > 0:
            yield Gap(writer, 0, mine[0].sequence - 1, lost=_covers(mine[0].losses, {}, mine[0].sequence))
        for before, after in pairwise(mine):
            lacking = after.sequence - before.sequence - 1
            if lacking > 0:
                is_lost = _covers(after.losses, before.losses, lacking)
                yield Gap(writer, before.sequence + 1, after.sequence - 1, lost=is_lost)


def losses(events: Iterable[RunEvent]) -> dict[str, int]:
    """What the writers lost, by reason. A writer's losses only grow: its event with the most tells them all."""
    most: dict[str, Mapping[str, int]] = {}
    for event in events:
        if sum(event.losses.values()) > sum(most.get(event.writer, {}).values()):
            most[event.writer] = event.losses
    total: Counter[str] = Counter()
    for each in most.values():
        total.update(each)
    return dict(sorted(total.items()))


def first_start(held: Sequence[HeldEvent]) -> RunEvent | None:
    """The first ``run.started`` to arrive: what the run is called, whatever later ones say."""
    return next((event for event in _arrived(held) if event.kind == EventKind.RUN_STARTED), None)


def end_of_all(held: Iterable[HeldEvent]) -> RunEvent | None:
    """The end that is in force: the last to arrive, unless the run was resumed after it."""
    end = None
    for event in _arrived(held):
        if event.kind == EventKind.RUN_FINISHED:
            end = event
        elif event.kind == EventKind.RUN_RESUMED and event.fields.get("isPart") is not True:
            end = None
    return end


def status_of_all(held: Iterable[HeldEvent]) -> RunStatus:
    """The status that a run's stored events tell."""
    end = end_of_all(held)
    return RunStatus.UNFINISHED if end is None else status_of(end)


def lasted_ms(start: RunEvent | None, end: RunEvent | None) -> int | None:
    """From a run's start to its end, by the clock of the writer of both; None where no one clock tells."""
    if start is None or end is None or start.writer != end.writer:
        return None
    try:
        passed = round((end.at - start.at).total_seconds() * 1_000)
    except TypeError:  # one of them names no offset
        return None
    return passed if passed >= 0 else None


def status_of(finished: RunEvent) -> RunStatus:
    """How a run ended by its end; a word that is none of ours ends nothing."""
    return _STATUSES.get(str(finished.fields.get("status")), RunStatus.UNFINISHED)


_MARKS: Final = frozenset({EventKind.RUN_STARTED, EventKind.RUN_RESUMED, EventKind.RUN_FINISHED})
_STATUSES: Final = {str(each): each for each in RunStatus}


def _arrived(held: Iterable[HeldEvent]) -> Iterator[RunEvent]:
    return (each.event for each in by_arrival(held) if each.event is not None)


def _covers(after: Mapping[str, int], before: Mapping[str, int], lacking: int) -> bool:
    return 0 < lacking <= sum(after.values()) - sum(before.values())


def _sequence(event: RunEvent) -> int:
    return event.sequence
