"""Pinned turns read where they lie, for whatever walks the whole table: never more in memory than a chunk."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from django.db.models import QuerySet
from django.db.models.functions import Length

from capture.limits import WALK_BYTES, WALK_ROWS
from capture.models import AgentCallEnvelope, AgentCallRecord
from capture.pins.reading import body_of, dictionaries_of
from capture.pins.seats import Seat, owner
from capture.soundness import sound_record
from capture_sdk.codec import dictionary_hash, standalone
from capture_sdk.errors import RecordError
from capture_sdk.records import TurnKey, TurnRecord


def key_of(row: AgentCallRecord) -> TurnKey:
    """Where the row says that its turn belongs."""
    return TurnKey(row.table_id, row.hand_number, row.agent_id, row.action_index)


def stored_record(row: AgentCallRecord, envelope: bytes | None = None) -> TurnRecord | None:
    """The row's record with its envelope put back; None when its bytes are no sound record of that very key."""
    try:
        record = sound_record(bytes(row.record), envelope)
    except RecordError:
        return None
    return record if record.key == key_of(row) else None


def stored_envelope(seat: Seat, env_hash: str) -> bytes | None:
    """One envelope of a seat (table, hand, agent); None when it is not there or is damaged at rest."""
    table_id, hand_number, agent_id = seat
    row = AgentCallEnvelope.objects.filter(
        table_id=table_id, hand_number=hand_number, agent_id=agent_id, env_hash=env_hash
    ).first()
    return None if row is None else body_of(row)


def stand_alone(rows: list[AgentCallRecord]) -> list[AgentCallRecord]:
    """The same rows, their records in need of no dictionary. They are to be read, and not saved.

    One whose dictionary has gone or is damaged stays as it is, and cannot be read.
    """
    dictionaries = dictionaries_of(rows)
    for row in rows:
        needed = dictionary_hash(data := bytes(row.record))
        with contextlib.suppress(RecordError):
            row.record = standalone(data, dictionaries.get((owner(row), needed or "")))
    return rows


def walk_records(scope: Mapping[str, str | int]) -> Iterator[list[AgentCallRecord]]:
    """Every pinned turn of ``scope`` (column values; empty for all) by id, in chunks.

    Each chunk is a short query of its own, so that no snapshot is held open. Turns that are pinned meanwhile are met
    too; none is met twice.
    """
    last = 0
    while sized := sizes(AgentCallRecord.objects.filter(**scope, id__gt=last).order_by("id")[:WALK_ROWS]):
        yield from fetched(sized)
        last = sized[-1][0]


def fetched(sized: Iterable[tuple[int, int]]) -> Iterator[list[AgentCallRecord]]:
    """The rows of these (id, bytes), in that order, made to stand alone, as many at a time as memory is meant for."""
    for ids in _chunks(sized):
        rows = AgentCallRecord.objects.in_bulk(ids)
        yield stand_alone([rows[each] for each in ids if each in rows])


def sizes(rows: QuerySet[AgentCallRecord]) -> list[tuple[int, int]]:
    """Each row's id, and how many bytes its record takes."""
    return list(rows.annotate(stored=Length("record")).values_list("id", "stored"))


def _chunks(sized: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Ids whose records together stay below the limit; one that is larger goes alone."""
    ids: list[int] = []
    held = 0
    for row_id, size in sized:
        if ids and held + size > WALK_BYTES:
            yield ids
            ids, held = [], 0
        ids.append(row_id)
        held += size
    if ids:
        yield ids
