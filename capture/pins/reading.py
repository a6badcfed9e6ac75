"""Reads of what is pinned: rows, and the envelopes and dictionaries that they need, put together.

A hand is read in three queries at most. What is damaged at rest is reported as that, never hidden.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from capture.limits import ENVELOPE_BYTES
from capture.merge import DurableTurn
from capture.models import AgentCallDictionary, AgentCallEnvelope, AgentCallRecord
from capture.pins.seats import Seat, owner
from capture_sdk.codec import build, decompress, dictionary_hash, envelope_hash, fields_of, unframe
from capture_sdk.errors import RecordError
from capture_sdk.records import TurnKey, TurnRecord

Shared = Mapping[tuple[Seat, str], bytes]


def pinned_turns(
    table_id: str, hand_number: int, *, agent_id: str | None, action_index: int | None = None
) -> list[DurableTurn]:
    """The pinned turns of one agent, or of all for None, by action index, then agent."""
    rows = AgentCallRecord.objects.filter(table_id=table_id, hand_number=hand_number)
    if agent_id is not None:
        rows = rows.filter(agent_id=agent_id)
    if action_index is not None:
        rows = rows.filter(action_index=action_index)
    return open_rows(list(rows.order_by("action_index", "agent_id")))


def open_rows(rows: list[AgentCallRecord]) -> list[DurableTurn]:
    """These rows as turns, whatever hands they are of."""
    envelopes = _envelopes(rows)
    dictionaries = dictionaries_of(rows)
    return [_turn(row, envelopes, dictionaries) for row in rows]


def _envelopes(rows: Iterable[AgentCallRecord]) -> Shared:
    needed = {(owner(row), row.env_hash) for row in rows if row.env_hash is not None}
    found = AgentCallEnvelope.objects.filter(**_of(needed), env_hash__in={each for _, each in needed})
    bodies = {(owner(row), row.env_hash): body_of(row) for row in found}
    return {at: body for at, body in bodies.items() if body is not None}


def dictionaries_of(rows: Iterable[AgentCallRecord]) -> Shared:
    """The stored dictionaries that these rows need, as far as they are there."""
    hashes = ((owner(row), dictionary_hash(bytes(row.record[:32]))) for row in rows)
    needed = {(at, each) for at, each in hashes if each is not None}
    found = AgentCallDictionary.objects.filter(**_of(needed), dict_hash__in={each for _, each in needed})
    return {(owner(row), row.dict_hash): bytes(row.body) for row in found}


def _of(needed: set[tuple[Seat, str]]) -> dict[str, Any]:
    """A filter that the tables' indexes serve. One agent's read asks for that agent alone."""
    if len(owners := {at for at, _ in needed}) == 1:
        return dict(zip(("table_id", "hand_number", "agent_id"), next(iter(owners)), strict=True))
    tables, hands, agents = zip(*owners, strict=True) if owners else ((), (), ())
    return {"table_id__in": set(tables), "hand_number__in": set(hands), "agent_id__in": set(agents)}


def _turn(row: AgentCallRecord, envelopes: Shared, dictionaries: Shared) -> DurableTurn:
    key = TurnKey(*owner(row), row.action_index)
    return DurableTurn(key, _record(row, key, envelopes, dictionaries), row.agent_version_id)


def _record(row: AgentCallRecord, key: TurnKey, envelopes: Shared, dictionaries: Shared) -> TurnRecord | None:
    """The record; None when its bytes cannot be read, or say that they belong elsewhere."""
    data, at = bytes(row.record), owner(row)
    try:
        fields = fields_of(unframe(data, dictionaries.get((at, dictionary_hash(data) or ""))))
        record = build(fields, envelopes.get((at, envelope_hash(fields) or "")))
    except RecordError:
        return None
    return record if record.key == key else None


def body_of(row: AgentCallEnvelope) -> bytes | None:
    """An envelope's own bytes. One that is damaged at rest is as good as gone, and is reported like that."""
    try:
        return decompress(bytes(row.body), ENVELOPE_BYTES)
    except RecordError:
        return None
