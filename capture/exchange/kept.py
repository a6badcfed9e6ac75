"""Rows of imported turns and envelopes: inserted where there are none, never over what is there.

Each is read back before the transaction commits, and compared with what the file holds.
"""

import datetime
from enum import StrEnum

from capture.exchange.manifest import EnvelopeEntry, Manifest, RecordEntry
from capture.ledger import storable
from capture.limits import PINNED_BY_LENGTH
from capture.models import AgentCallEnvelope, AgentCallRecord
from capture.pins.walking import stand_alone, stored_envelope
from capture_sdk.codec import compress, unframe
from capture_sdk.errors import RecordError
from capture_sdk.records import TurnRecord


class Kept(StrEnum):
    """What became of one of them."""

    INSERTED = "inserted"
    PRESENT = "present"  # the very same was here
    CONFLICT = "conflict"  # another one is here, and stays


def keep_record(entry: RecordEntry, record: TurnRecord, data: bytes, by: str) -> Kept:
    """Insert a turn unless its place is taken; ``data`` is the record as the file holds it.

    What is compared is what the frames hold: the same turn may have been packed in another way here.
    """
    before = _stored(record)
    if before is None:
        AgentCallRecord.objects.bulk_create([_row(entry, record, data, by)], ignore_conflicts=True)
    return _kept(before, _stored(record), unframe(data))


def keep_envelope(manifest: Manifest, entry: EnvelopeEntry, body: bytes) -> Kept:
    """Insert an agent's envelope unless it is there. One that is there and damaged is a conflict."""
    seat = (*manifest.hand, entry.agent_id)
    where = {"table_id": seat[0], "hand_number": seat[1], "agent_id": seat[2], "env_hash": entry.env_hash}
    if AgentCallEnvelope.objects.filter(**where).exists():
        return Kept.PRESENT if stored_envelope(seat, entry.env_hash) == body else Kept.CONFLICT
    row = AgentCallEnvelope(**where, body=compress(body), size=len(body))
    AgentCallEnvelope.objects.bulk_create([row], ignore_conflicts=True)
    return _kept(None, stored_envelope(seat, entry.env_hash), body)


def _kept(before: bytes | None, after: bytes | None, given: bytes) -> Kept:
    if after != given:
        return Kept.CONFLICT
    return Kept.INSERTED if before is None else Kept.PRESENT


def _stored(record: TurnRecord) -> bytes | None:
    key = record.key
    rows = AgentCallRecord.objects.of_agent(key.table_id, key.hand_number, key.agent_id)
    found = stand_alone(list(rows.filter(action_index=key.action_index)))
    if not found:
        return None
    data = bytes(found[0].record)
    try:
        return unframe(data)
    except RecordError:
        return data  # damaged here: it differs from whatever comes, and stays


def _row(entry: RecordEntry, record: TurnRecord, data: bytes, by: str) -> AgentCallRecord:
    key, prompt = record.key, record.prompt
    return AgentCallRecord(
        table_id=key.table_id,
        hand_number=key.hand_number,
        agent_id=key.agent_id,
        action_index=key.action_index,
        agent_version_id=_storable(entry.agent_version_id),
        model=_storable(record.model),
        provider=_storable(record.provider),
        is_clamped=record.is_clamped,
        env_hash=prompt.env_hash if prompt else None,
        prompt_sha256=prompt.sha256 if prompt else None,
        record=data,
        captured_at=_aware(record.captured_at),
        pinned_at=entry.pinned_at,
        pinned_by=_both(entry.pinned_by, by),
    )


def _aware(time: datetime.datetime) -> datetime.datetime:
    """An old record's time without an offset is UTC, as it was when it was pinned."""
    return time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _both(pinned_by: str, by: str) -> str:
    """Who kept it there, then who brought it here; the first is cut where both are too long."""
    imported = f", imported by {by}"
    return storable(pinned_by)[: PINNED_BY_LENGTH - len(imported)] + imported
