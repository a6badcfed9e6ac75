"""Pin = promote = "Keep this hand": how captured turns become durable (an import is the other way).

What one agent has in the buffer is copied, with every envelope it needs, in one transaction, and read
back and hashed before it commits. Idempotent, safe with two at once, and repeatable at any time: a later
pin completes an earlier, partial one, and replaces what was damaged at rest as long as the buffer has it.
"""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db import transaction

from capture import metrics
from capture.buffer import Buffer, BufferedTurn, BufferUnavailable
from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable
from capture.ledger import charges_of_hand, storable
from capture.merge import DurableTurn, prompt_status
from capture.models import AgentCallDictionary, AgentCallEnvelope, AgentCallRecord
from capture.pins.reading import pinned_turns
from capture.pins.seats import Seat, lock_seat
from capture_sdk.codec import compress, dictionary_hash
from capture_sdk.prompt import PromptStatus

_log = logging.getLogger("capture.pins.pin")


class PinStatus(StrEnum):
    """What a pin did."""

    PINNED = "pinned"
    ALREADY_PINNED = "already_pinned"
    NOTHING_TO_CAPTURE = "nothing_to_capture"


@dataclass(frozen=True, slots=True)
class Pin:
    """The outcome for one agent: rows inserted now, durable turns afterwards, real inferences without one."""

    status: PinStatus
    inserted: int
    total: int
    missing: int


class PinDamaged(Exception):
    """What was read back after writing is not what was written; nothing was committed."""


def promote(table_id: str, hand_number: int, *, agent_id: str, by: str) -> Pin:
    """Keep one agent's turns of a hand; ``by`` is the person or key that asked.

    Raises StoresUnavailable when the buffer or the durable store does not answer: a store that is down
    is never a status.
    """
    try:
        pin = _promote(table_id, hand_number, agent_id, by)
    except (StoresUnavailable, PinDamaged):
        metrics.count_pin("failed", 0)
        raise
    metrics.count_pin(pin.status, pin.inserted)
    return pin


def _promote(table_id: str, hand_number: int, agent_id: str, by: str) -> Pin:
    try:
        buffered = Buffer.connect().turns(table_id, hand_number, agent_id=agent_id)
        return ask(lambda: _pin((table_id, hand_number, agent_id), buffered, by))
    except BufferUnavailable as exc:
        raise StoresUnavailable("the buffer is unavailable") from exc
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc


@transaction.atomic
def _pin(seat: Seat, buffered: list[BufferedTurn], by: str) -> Pin:
    lock_seat(seat)
    charges = [charge for charge in charges_of_hand(*seat[:2], agent_id=seat[2]) if not charge.is_fallback]
    versions = {charge.key.action_index: charge.agent_version_id for charge in charges}
    before = _count(seat)
    whole = [turn for turn in buffered if turn.record is not None]
    rows = [_row(seat, turn, versions.get(turn.action_index), by) for turn in whole]
    kept = _insert(seat, rows, whole)
    if damaged := _damaged(kept, whole):
        _remove(seat, damaged)
        kept = _insert(seat, rows, whole)
        _log.warning(
            "%d pinned turns of %s were damaged at rest, and were replaced from the buffer",
            len(damaged),
            seat,
        )
    if damaged := _damaged(kept, whole):
        raise PinDamaged(f"turn {damaged[0].action_index} of {seat[2]!r} reads back different")
    inserted = len(kept) - before
    missing = sum(charge.key.action_index not in kept for charge in charges)
    return Pin(_status(inserted, len(kept)), inserted, len(kept), missing)


def _insert(seat: Seat, rows: list[AgentCallRecord], turns: list[BufferedTurn]) -> dict[int, DurableTurn]:
    """Write what is not there yet, and read back everything that is durable now."""
    AgentCallDictionary.objects.bulk_create(_dictionaries(seat, turns), ignore_conflicts=True)
    AgentCallEnvelope.objects.bulk_create(_envelopes(seat, turns), ignore_conflicts=True)
    AgentCallRecord.objects.bulk_create(rows, ignore_conflicts=True)
    return {turn.key.action_index: turn for turn in pinned_turns(*seat[:2], agent_id=seat[2])}


def _count(seat: Seat) -> int:
    return AgentCallRecord.objects.of_agent(*seat).count()


def _envelopes(seat: Seat, turns: list[BufferedTurn]) -> list[AgentCallEnvelope]:
    """The envelopes that are as recorded; a damaged one is not kept as if it were good."""
    bodies: dict[str, bytes] = {}
    for turn in turns:
        prompt = turn.record.prompt if turn.record is not None else None
        if prompt is None or prompt.env_hash is None or prompt.envelope is None:
            continue
        if hashlib.sha256(prompt.envelope).hexdigest() == prompt.env_hash:
            bodies[prompt.env_hash] = prompt.envelope
    table_id, hand_number, agent_id = seat
    return [
        AgentCallEnvelope(
            table_id=table_id,
            hand_number=hand_number,
            agent_id=agent_id,
            env_hash=env_hash,
            body=compress(body),
            size=len(body),
        )
        for env_hash, body in bodies.items()
    ]


def _dictionaries(seat: Seat, turns: list[BufferedTurn]) -> list[AgentCallDictionary]:
    """The dictionaries that the records need, as the buffer has them: with them the pin stands by itself."""
    bodies = {dictionary_hash(turn.raw): turn.dictionary for turn in turns}
    table_id, hand_number, agent_id = seat
    return [
        AgentCallDictionary(
            table_id=table_id, hand_number=hand_number, agent_id=agent_id, dict_hash=needed, body=body
        )
        for needed, body in bodies.items()
        if needed is not None and body is not None
    ]


def _row(seat: Seat, turn: BufferedTurn, version: str | None, by: str) -> AgentCallRecord:
    record = turn.record
    if record is None:
        raise PinDamaged("an unreadable turn has no row")
    table_id, hand_number, agent_id = seat
    return AgentCallRecord(
        table_id=table_id,
        hand_number=hand_number,
        agent_id=agent_id,
        action_index=turn.action_index,
        agent_version_id=_storable(record.agent_version_id or version),
        model=_storable(record.model),
        provider=_storable(record.provider),
        is_clamped=record.is_clamped,
        env_hash=record.prompt.env_hash if record.prompt else None,
        prompt_sha256=record.prompt.sha256 if record.prompt else None,
        record=turn.raw,
        captured_at=record.captured_at,
        pinned_by=by,
    )


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _damaged(kept: Mapping[int, DurableTurn], written: list[BufferedTurn]) -> list[BufferedTurn]:
    """The turns that are whole in the buffer and not whole in what was read back, hashed now.

    One that is incomplete in the buffer too is none of them: its reader is told so again.
    """
    whole = [turn for turn in written if prompt_status(turn.record)[0] is PromptStatus.VERIFIED]
    return [turn for turn in whole if not _is_whole(kept.get(turn.action_index))]


def _is_whole(turn: DurableTurn | None) -> bool:
    return turn is not None and prompt_status(turn.record)[0] is PromptStatus.VERIFIED


def _remove(seat: Seat, turns: list[BufferedTurn]) -> None:
    """Take away rows that are damaged at rest, where the buffer still has what they should be."""
    hashes = [turn.record.prompt.env_hash for turn in turns if turn.record and turn.record.prompt]
    AgentCallEnvelope.objects.of_agent(*seat).filter(env_hash__in=[each for each in hashes if each]).delete()
    needed = [needed for turn in turns if (needed := dictionary_hash(turn.raw))]
    AgentCallDictionary.objects.of_agent(*seat).filter(dict_hash__in=needed).delete()
    indexes = [turn.action_index for turn in turns]
    AgentCallRecord.objects.of_agent(*seat).filter(action_index__in=indexes).delete()


def _status(inserted: int, total: int) -> PinStatus:
    if inserted:
        return PinStatus.PINNED
    return PinStatus.ALREADY_PINNED if total else PinStatus.NOTHING_TO_CAPTURE
