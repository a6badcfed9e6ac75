"""The read door: what the stores know of a hand, merged, with where it was looked for.

``agent_id`` has no default anywhere here: an owner's read cannot forget its scope. ``get_hand_all`` is the
operator's own door.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from capture.buffer import Buffer, BufferedTurn, BufferUnavailable
from capture.ledger import charges_of_hand
from capture.limits import ENVELOPE_BYTES
from capture.merge import CapturedTurn, Clock, DurableTurn, HandView, merge
from capture.models import AgentCallEnvelope, AgentCallRecord
from capture_sdk.codec import decode, decompress
from capture_sdk.errors import RecordError
from capture_sdk.records import Charge, TurnKey, TurnRecord

Answer = TypeVar("Answer")


class StoresUnavailable(Exception):
    """No store that could answer did. Nothing is known, which is not the same as nothing being there."""


def get_hand_turns(table_id: str, hand_number: int, *, agent_id: str) -> HandView:
    """One agent's turns of a hand: buffer ∪ durable, missing ones named. Touches that agent's keys only.

    Raises StoresUnavailable when neither store answers.
    """
    return _view(
        (table_id, hand_number),
        agent_id,
        lambda buffer: buffer.turns(table_id, hand_number, agent_id=agent_id),
    )


def get_hand_all(table_id: str, hand_number: int) -> HandView:
    """Every agent's turns of a hand, for the operator. Raises StoresUnavailable when neither store answers.

    Agents are those of the buffer's set, of the durable rows and of the ledger: a key that expires never
    hides a durable turn.
    """
    charges = _postgres(lambda: charges_of_hand(table_id, hand_number, agent_id=None))
    charged = {charge.key.agent_id for charge in charges or ()}

    def read(buffer: Buffer) -> list[BufferedTurn]:
        agents = sorted(buffer.agents(table_id, hand_number) | charged)
        return [turn for agent in agents for turn in buffer.turns(table_id, hand_number, agent_id=agent)]

    return _view((table_id, hand_number), None, read, charges=charges)


def get_turn(key: TurnKey) -> tuple[HandView, CapturedTurn | None]:
    """One turn with the view of its agent's hand, which says why it is missing when it is."""
    view = get_hand_turns(key.table_id, key.hand_number, agent_id=key.agent_id)
    return view, next((turn for turn in view.turns if turn.key == key), None)


def durable_turns(table_id: str, hand_number: int, *, agent_id: str | None) -> list[DurableTurn]:
    """The pinned turns of one agent, or of all for None, with their envelopes."""
    where = {"table_id": table_id, "hand_number": hand_number}
    if agent_id is not None:
        where["agent_id"] = agent_id
    envelopes = {
        (row.agent_id, row.env_hash): _body(bytes(row.body))
        for row in AgentCallEnvelope.objects.filter(**where)
    }
    rows = AgentCallRecord.objects.filter(**where).order_by("action_index", "agent_id")
    return [_durable(row, envelopes.get((row.agent_id, row.env_hash or ""))) for row in rows]


def read_clock() -> Clock:
    """Now, and the buffer's TTL."""
    return Clock(timezone.now(), settings.CAPTURE_TTL_SECONDS)


def _view(
    hand: tuple[str, int],
    agent_id: str | None,
    read: Callable[[Buffer], list[BufferedTurn]],
    *,
    charges: Sequence[Charge] | None = None,
) -> HandView:
    buffered = _buffer(read)
    if charges is None:
        charges = _postgres(lambda: charges_of_hand(*hand, agent_id=agent_id))
    # The same store: when it has not answered once, a reader does not wait for it a second time.
    durable = None if charges is None else _postgres(lambda: durable_turns(*hand, agent_id=agent_id))
    if buffered is None and durable is None:
        raise StoresUnavailable("neither the buffer nor the durable store answers")
    return merge(hand, buffered=buffered, durable=durable, charges=charges, clock=read_clock())


def _buffer(read: Callable[[Buffer], Answer]) -> Answer | None:
    """The buffer's answer, or None when it does not answer: a lost buffer is told, and not fatal."""
    try:
        return read(Buffer.connect())
    except BufferUnavailable:
        return None


def _postgres(read: Callable[[], Answer]) -> Answer | None:
    """The durable store's answer, or None when it does not answer. A wrong query still raises."""
    try:
        return read()
    except (OperationalError, InterfaceError):
        return None


def _durable(row: AgentCallRecord, envelope: bytes | None) -> DurableTurn:
    key = TurnKey(row.table_id, row.hand_number, row.agent_id, row.action_index)
    return DurableTurn(key, _record(bytes(row.record), key, envelope), row.agent_version_id)


def _record(data: bytes, key: TurnKey, envelope: bytes | None) -> TurnRecord | None:
    try:
        record = decode(data, envelope)
    except RecordError:
        return None
    return record if record.key == key else None


def _body(frame: bytes) -> bytes | None:
    """An envelope's bytes; one that is damaged at rest is as good as gone, and is reported like that."""
    try:
        return decompress(frame, ENVELOPE_BYTES)
    except RecordError:
        return None
