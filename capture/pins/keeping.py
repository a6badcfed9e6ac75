"""Keep a whole hand: every agent's turns pinned, each agent accounted for by itself.

One agent's failure costs no other agent its pin, and is never hidden behind theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from capture.absence import MissingTurn
from capture.access import log_access
from capture.hands import StoresUnavailable, get_hand_all
from capture.models import AccessAction
from capture.pins.pin import Pin, PinDamaged, promote


@dataclass(frozen=True, slots=True)
class AgentPin:
    """What became of one agent's part; ``pin`` is None where it failed, and ``failure`` says why."""

    agent_id: str
    pin: Pin | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class HandPin:
    """Every agent's outcome, and the turns the ledger knows that are kept for none of them, with the reason.

    ``missing`` is None where a store could not be asked.
    """

    agents: tuple[AgentPin, ...]
    missing: tuple[MissingTurn, ...] | None

    @property
    def is_whole(self) -> bool:
        """Whether every agent got an answer."""
        return self.missing is not None and all(each.pin is not None for each in self.agents)


def keep_hand(table_id: str, hand_number: int, *, agents: Sequence[str] | None, by: str) -> HandPin:
    """Pin these agents' turns, or those of every agent of the hand for None. Safe to repeat, and with two at once.

    Raises StoresUnavailable where no store can say who the agents are.
    """
    hand = (table_id, hand_number)
    chosen = sorted(set(agents)) if agents is not None else get_hand_all(*hand).agents
    pins = tuple(_keep(hand, agent_id, by) for agent_id in chosen)
    return HandPin(pins, _missing(hand, chosen))


def _keep(hand: tuple[str, int], agent_id: str, by: str) -> AgentPin:
    try:
        pin = promote(*hand, agent_id=agent_id, by=by)
    except (StoresUnavailable, PinDamaged) as exc:
        return AgentPin(agent_id, None, str(exc))
    log_access(AccessAction.PIN, actor=by, hand=hand, agents=[agent_id], detail=str(pin.status))
    return AgentPin(agent_id, pin)


def _missing(hand: tuple[str, int], agents: Sequence[str]) -> tuple[MissingTurn, ...] | None:
    try:
        view = get_hand_all(*hand)
    except StoresUnavailable:
        return None
    if not (view.buffer_ok and view.durable_ok):
        return None
    return tuple(each for each in view.missing if each.key.agent_id in agents)
