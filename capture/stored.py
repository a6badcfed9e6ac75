"""Pinned turns read where they lie, for whatever walks the whole table: never more in memory than a chunk."""

from collections.abc import Iterable, Iterator, Mapping

from django.db.models import QuerySet
from django.db.models.functions import Length

from capture.limits import ENVELOPE_BYTES, WALK_BYTES, WALK_ROWS
from capture.models import AgentCallEnvelope, AgentCallRecord
from capture.soundness import sound_record
from capture_sdk.codec import decompress
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


def stored_envelope(seat: tuple[str, int, str], env_hash: str) -> bytes | None:
    """One envelope of a seat (table, hand, agent); None when it is not there or is damaged at rest."""
    table_id, hand_number, agent_id = seat
    row = AgentCallEnvelope.objects.filter(
        table_id=table_id, hand_number=hand_number, agent_id=agent_id, env_hash=env_hash
    ).first()
    return None if row is None else body_of(row)


def body_of(row: AgentCallEnvelope) -> bytes | None:
    """An envelope's own bytes; None when its frame is damaged."""
    try:
        return decompress(bytes(row.body), ENVELOPE_BYTES)
    except RecordError:
        return None


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
    """The rows of these (id, bytes), in that order, as many at a time as memory is meant for."""
    for ids in _chunks(sized):
        rows = AgentCallRecord.objects.in_bulk(ids)
        yield [rows[each] for each in ids if each in rows]


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
