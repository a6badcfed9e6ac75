"""The read door: what the stores know of a hand, merged, with where it was looked for.

``agent_id`` has no default anywhere here: an owner's read cannot forget its scope. ``get_hand_all`` is the
operator's own door.
"""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.conf import settings
from django.utils import timezone

from capture.absence import Clock
from capture.buffer import Buffer, BufferedTurn, BufferUnavailable
from capture.durable import DurableUnavailable, ask
from capture.ledger import charges_of_hand
from capture.merge import CapturedTurn, DurableTurn, HandView, merge
from capture.pins.reading import pinned_turns
from capture_sdk.prompt import PromptStatus
from capture_sdk.records import Charge, TurnKey

Answer = TypeVar("Answer")

_log = logging.getLogger("capture.hands")


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


def find_turn(key: TurnKey) -> CapturedTurn | None:
    """One captured turn, without the others of its hand: a large hand is not read for one of its prompts.

    Raises StoresUnavailable when neither store answers.
    """
    hand = (key.table_id, key.hand_number)
    buffered = _buffer(lambda buffer: buffer.turn(key))
    durable = _postgres(lambda: pinned_turns(*hand, agent_id=key.agent_id, action_index=key.action_index))
    return next(iter(_merged(hand, buffered, durable, ()).turns), None)


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
    durable = None if charges is None else _postgres(lambda: pinned_turns(*hand, agent_id=agent_id))
    return _merged(hand, buffered, durable, charges)


def _merged(
    hand: tuple[str, int],
    buffered: Sequence[BufferedTurn] | None,
    durable: Sequence[DurableTurn] | None,
    charges: Sequence[Charge] | None,
) -> HandView:
    if buffered is None and durable is None:
        raise StoresUnavailable("neither the buffer nor the durable store answers")
    view = merge(hand, buffered=buffered, durable=durable, charges=charges, clock=read_clock())
    _report(view)
    return view


def _report(view: HandView) -> None:
    """Say in the log which prompts are not what was recorded: a reader sees it on the turn, an operator here."""
    for turn in view.turns:
        if turn.prompt_status is PromptStatus.MISMATCHED and turn.prompt_unavailable != "rewritten":
            why = turn.prompt_unavailable or "hash_differs"
            _log.warning("prompt of %s is not what was recorded: %s", turn.key, why)


def _buffer(read: Callable[[Buffer], Answer]) -> Answer | None:
    """The buffer's answer, or None when it does not answer: a lost buffer is told, and not fatal."""
    try:
        return read(Buffer.connect())
    except BufferUnavailable:
        return None


def _postgres(read: Callable[[], Answer]) -> Answer | None:
    """The durable store's answer, or None when it does not answer. A wrong query still raises."""
    try:
        return ask(read)
    except DurableUnavailable:
        return None
