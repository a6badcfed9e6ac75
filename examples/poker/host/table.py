"""One table: the host's end of six connections, and the hands played over them."""

import json
import queue
import random
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from examples.poker.host.engine import BIG_BLIND, BUY_IN, SMALL_BLIND, Hand, Player

DEADLINE_MS: Final = 20_000
LISTEN_SECONDS: Final = 30.0

Frame = dict[str, Any]


class TableError(Exception):
    """An agent did not do what a table needs of it."""


@dataclass
class Chair:
    """The host's end of one seat: the connection it has now, and the frames that came over any it had."""

    agent_id: str
    inbox: "queue.Queue[Frame]" = field(default_factory=queue.Queue)
    connection: socket.socket | None = None
    is_seated: threading.Event = field(default_factory=threading.Event)

    def tell(self, frame: Frame) -> None:
        """Write one frame to the agent."""
        if self.connection is None:
            raise TableError(f"{self.agent_id} is not connected")
        # outbox: allowed because the host speaks here, and a host has no turns to record
        self.connection.sendall(json.dumps(frame).encode() + b"\n")

    def hear(self, kind: str) -> Frame:
        """The agent's next frame, which must be of this kind."""
        try:
            frame = self.inbox.get(timeout=LISTEN_SECONDS)
        except queue.Empty:
            raise TableError(f"{self.agent_id} said nothing for {LISTEN_SECONDS:.0f} s") from None
        if frame["type"] != kind:
            raise TableError(f"{self.agent_id} sent {frame['type']!r} where {kind!r} was due")
        return frame

    def hang_up(self) -> None:
        """Break the connection, as a network does, and wait until the agent has come back."""
        self.is_seated.clear()
        if self.connection is not None:
            self.connection.shutdown(socket.SHUT_RDWR)
        if not self.is_seated.wait(LISTEN_SECONDS):
            raise TableError(f"{self.agent_id} did not come back")


class Table:
    """Plays hands with whoever sits here and reports what the agents charged, hand by hand.

    ``charged`` takes (table id, hand number, agent, the agent's usage report). ``drops`` names, by hand
    number, an agent whose connection breaks in the middle of that hand.
    """

    def __init__(
        self,
        table_id: str,
        agents: list[str],
        *,
        seed: int,
        charged: Callable[[str, str, Frame], None],
        drops: dict[int, str],
    ) -> None:
        self.table_id = table_id
        self.chairs = {agent: Chair(agent) for agent in agents}
        self._stacks = dict.fromkeys(agents, BUY_IN)
        self._deck = random.Random(seed)
        self._charged, self._drops = charged, drops

    def play(self, number: int) -> None:
        """Play one hand from the blinds to its result."""
        order = list(self.chairs)
        shift = number % len(order)
        order = order[shift:] + order[:shift]
        hand = Hand(number, [Player(agent, self._stacks[agent]) for agent in order], self._deck)
        self._show(hand)
        for agent, amount in ((order[0], SMALL_BLIND), (order[1], BIG_BLIND)):
            self.chairs[agent].tell({"type": "blind_due", "amount": amount})
            self.chairs[agent].hear("post_blind")
        action_index = 0
        while (actor := hand.actor) is not None:
            self._drop(hand, actor)
            self._turn(hand, actor, action_index)
            action_index += 1
        self._tell_all(hand.result())
        self._stacks = hand.stacks()

    def close(self) -> None:
        """Say goodbye to everybody and wait until they stand."""
        self._tell_all({"type": "goodbye"})
        for chair in self.chairs.values():
            chair.hear("stand")

    def _turn(self, hand: Hand, agent: str, action_index: int) -> None:
        chair, street = self.chairs[agent], hand.street
        chair.tell(hand.your_turn(action_index, DEADLINE_MS))
        action = chair.hear("action")
        hand.act(action["action"], action.get("amount"))
        self._charged(self.table_id, agent, chair.hear("usage_report")["charge"])
        said = {
            "agentId": agent,
            "action": action["action"],
            "amount": action.get("amount"),
            "street": street,
        }
        self._tell_all({"type": "player_action", **said})
        self._show(hand)

    def _drop(self, hand: Hand, agent: str) -> None:
        """Let a connection break just before its agent's turn, once the flop is there."""
        if hand.street != "preflop" and self._drops.get(hand.number) in (agent, "*"):
            del self._drops[hand.number]
            self.chairs[agent].hang_up()
            self.chairs[agent].tell(hand.game_state(agent))

    def _show(self, hand: Hand) -> None:
        for agent, chair in self.chairs.items():
            chair.tell(hand.game_state(agent))

    def _tell_all(self, frame: Frame) -> None:
        for chair in self.chairs.values():
            chair.tell(frame)
