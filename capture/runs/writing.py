"""Runs on their way into Postgres: events, the artifacts that they refer to, and the row that finds them.

One transaction a run, safe with two at once and to repeat: the first of an event to arrive stays.
"""

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from django.db import connection, transaction
from django.db.models import Count, Max
from django.utils import timezone

from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable
from capture.limits import RUN_CHUNK_ARTIFACTS, RUN_CHUNK_ROWS
from capture.models import AgentRun, AgentRunArtifact, AgentRunEvent
from capture.pins.pin import PinDamaged
from capture.runs import heads, order
from capture.runs.artifacts import hashes_of, sound
from capture.runs.cold import kept_artifacts, key_of
from capture.runs.order import HeldEvent, opened
from capture.runs.run import RunStatus
from capture.runs.wanted import cut
from capture_sdk.codec import frame
from capture_sdk.freeze import pack
from capture_sdk.runs.records import Artifact, EventKind, RunEvent, RunKey, encode_event
from capture_sdk.transports.run_writes import ARRIVALS_PER_MS

Fetch = Callable[[Sequence[str]], Mapping[str, bytes]]
Times = tuple[datetime.datetime, datetime.datetime]
Item = TypeVar("Item")

_HEAD_KINDS: Final = (EventKind.RUN_STARTED, EventKind.RUN_FINISHED, EventKind.RUN_RESUMED)
_SHARED: Final = "writers of runs"


@dataclass(frozen=True, slots=True)
class Written:
    """What a writing did to one run: events inserted now, events durable afterwards.

    ``missing`` are the artifacts that its events refer to and that are not durable, ``bytes`` what was added.
    """

    inserted: int
    total: int
    missing: tuple[str, ...]
    bytes: int


def store_run(events: Sequence[RunEvent], artifacts: Iterable[Artifact], *, by: str) -> dict[RunKey, Written]:
    """Write events, of one run or several, straight into Postgres, in the order in which they are given.

    Raises StoresUnavailable when Postgres does not answer.
    """
    held = {each.sha256: frame(each.data) for each in artifacts}
    runs: dict[RunKey, list[RunEvent]] = {}
    for event in events:
        runs.setdefault(event.run, []).append(event)
    try:
        return {key: ask(partial(_store, key, mine, held, by)) for key, mine in sorted(runs.items())}
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc


@transaction.atomic
def _store(key: RunKey, events: list[RunEvent], held: Mapping[str, bytes], by: str) -> Written:
    """Their arrival is now, behind whatever arrived before."""
    lock_run(key)
    now = timezone.now()
    now = now.replace(microsecond=now.microsecond // 1_000 * 1_000)
    before = AgentRunEvent.objects.filter(run__agent_id=key.agent_id, run__run_id=key.run_id)
    last = before.aggregate(last=Max("arrival"))["last"] or 0
    first = max(last, round(now.timestamp() * 1_000) * ARRIVALS_PER_MS) + 1
    new = [
        opened(key, event.event_id, first + place, encode_event(event)) for place, event in enumerate(events)
    ]

    def fetch(hashes: Sequence[str]) -> dict[str, bytes]:
        return {each: held[each] for each in hashes if each in held}

    return write_run(key, new, fetch, (now, now), by=by, why="imported")


def write_run(
    key: RunKey, events: Sequence[HeldEvent], fetch: Fetch, times: Times, *, by: str, why: str
) -> Written:
    """Write within the caller's transaction, the run being locked. ``fetch`` gives stored artifacts by their hashes.

    Artifacts first, then events, then what the row says of them. Events that cannot be read are left out.
    """
    readable = [each for each in events if each.event is not None]
    row = _row(key, times, by, why)
    kept = set(row.events.values_list("event_id", flat=True))
    new = [each for each in readable if each.event_id not in kept]
    added, missing = _write_artifacts(row, readable, fetch)
    _write_events(row, new)
    size = added + sum(len(each.raw) for each in new)
    _describe(row, times, size)
    return Written(len(new), len(kept) + len(new), tuple(missing), size)


def lock_run(key: RunKey) -> None:
    """Wait until nobody else writes the run, to the end of the transaction."""
    with connection.cursor() as cursor:
        name = repr(("run", key.agent_id, key.run_id))
        cursor.execute("SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 0))", [_SHARED])
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def lock_writers() -> None:
    """Wait until nobody writes a run, to the end of the transaction: whoever deletes does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [_SHARED])


def _row(key: RunKey, times: Times, by: str, why: str) -> AgentRun:
    first = {
        "status": RunStatus.UNFINISHED,
        "began_at": times[0],
        "last_at": times[1],
        "last_arrival": 0,
        "counts": pack({}),
        "kept_by": by,
        "why": why,
    }
    return AgentRun.objects.get_or_create(agent_id=key.agent_id, run_id=key.run_id, defaults=first)[0]


def _event_row(row: AgentRun, held: HeldEvent) -> AgentRunEvent:
    kind = held.event.kind if held.event is not None else ""
    return AgentRunEvent(
        run=row, event_id=held.event_id, arrival=held.arrival, kind=cut(kind) or "", data=held.raw
    )


def _describe(row: AgentRun, times: Times, size: int) -> None:
    """What the row says, made anew of everything that is kept."""
    rows = row.events.filter(kind__in=_HEAD_KINDS).values_list("event_id", "arrival", "data")
    held = [opened(key_of(row), name, arrival, bytes(data)) for name, arrival, data in rows]
    named = heads.named_by(order.first_start(held))
    for name in ("name", "project", "service"):
        setattr(row, name, cut(named[name]))
    row.table_id, row.hand_number = named["hand"] or (None, None)
    row.status = order.status_of_all(held)
    row.lasted_ms = order.lasted_ms(order.first_start(held), order.end_of_all(held))
    counts = dict(row.events.values_list("kind").annotate(count=Count("*")))
    row.counts, row.kinds = pack(counts), sorted(counts)
    row.last_arrival = row.events.aggregate(last=Max("arrival"))["last"] or 0
    row.began_at, row.last_at = min(row.began_at, times[0]), max(row.last_at, times[1])
    if size:
        row.kept_bytes, row.kept_at = row.kept_bytes + size, timezone.now()
    row.save()


def _write_artifacts(row: AgentRun, events: Iterable[HeldEvent], fetch: Fetch) -> tuple[int, list[str]]:
    """Make durable what the events refer to; returns the bytes added, and the artifacts that are not to be had.

    In the order of their hashes, as everybody does: two runs that share some never wait for each other in a circle.
    """
    added, missing = 0, list[str]()
    for some in _chunks(sorted(hashes_of(events)), RUN_CHUNK_ARTIFACTS):
        kept = kept_artifacts(some)
        lacking = sorted(set(some) - sound(kept).keys())
        found = fetch(lacking) if lacking else {}
        whole = sound({each: data for each, data in found.items() if each in lacking})
        _insert_artifacts({each: (found[each], len(data)) for each, data in sorted(whole.items())}, kept)
        if whole.keys() - sound(kept_artifacts(whole)).keys():
            raise PinDamaged("an artifact reads back different")
        added += sum(len(found[each]) for each in whole)
        missing += sorted(set(lacking) - whole.keys())
        row.artifacts.add(*AgentRunArtifact.objects.filter(sha256__in=set(some) - set(missing)))
    return added, missing


def _insert_artifacts(whole: Mapping[str, tuple[bytes, int]], damaged: Collection[str]) -> None:
    """Rows of their own, or in the place of what is damaged at rest: other runs refer to that, too."""
    rows = [AgentRunArtifact(sha256=each, data=data, size=size) for each, (data, size) in whole.items()]
    AgentRunArtifact.objects.bulk_create(
        [row for row in rows if row.sha256 not in damaged], ignore_conflicts=True
    )
    for row in rows:
        if row.sha256 in damaged:
            AgentRunArtifact.objects.filter(sha256=row.sha256).update(data=row.data, size=row.size)


def _write_events(row: AgentRun, new: Sequence[HeldEvent]) -> None:
    for some in _chunks(new, RUN_CHUNK_ROWS):
        AgentRunEvent.objects.bulk_create([_event_row(row, each) for each in some])
        there = row.events.filter(event_id__in=[each.event_id for each in some])
        data = {name: bytes(data) for name, data in there.values_list("event_id", "data")}
        if any(data.get(each.event_id) != each.raw for each in some):
            raise PinDamaged("an event reads back different")


def _chunks(values: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
