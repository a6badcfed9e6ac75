"""One hand of no-limit hold'em on pokerkit, dealt from a deck of our own so that a seed repeats it."""

import random
from dataclasses import dataclass
from typing import Any, Final

from pokerkit import Automation, Mode, NoLimitTexasHoldem, State

SMALL_BLIND, BIG_BLIND = 1, 2
BUY_IN: Final = 200
REBUY_BELOW: Final = 60
STREETS: Final = ("preflop", "flop", "turn", "river")
_CARDS: Final = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
_AUTOMATIONS: Final = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.RUNOUT_COUNT_SELECTION,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)

Frame = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Player:
    """One seat of a hand, in the engine's order: small blind first, button last."""

    agent_id: str
    stack: int


class Hand:
    """The engine's state with the words the table's frames use."""

    def __init__(self, number: int, players: list[Player], deck: random.Random) -> None:
        self.number, self.players = number, players
        self._deck = deck.sample(_CARDS, len(_CARDS))
        stacks = tuple(player.stack for player in players)
        blinds = (SMALL_BLIND, BIG_BLIND)
        self.state: State = NoLimitTexasHoldem.create_state(
            _AUTOMATIONS, True, 0, blinds, BIG_BLIND, stacks, len(players), mode=Mode.CASH_GAME
        )
        self.cards: dict[str, list[str]] = {}
        for player in players:
            self.cards[player.agent_id] = [self._deck.pop(), self._deck.pop()]
            self.state.deal_hole("".join(self.cards[player.agent_id]))
        self._run_out()

    @property
    def actor(self) -> str | None:
        """Whose turn it is; None when the hand is over."""
        index = self.state.actor_index
        return None if index is None else self.players[index].agent_id

    @property
    def street(self) -> str:
        """preflop, flop, turn or river."""
        return STREETS[self.state.street_index or 0]

    @property
    def board(self) -> list[str]:
        """The cards on the board."""
        return [repr(card) for card in self.state.get_board_cards(0)]

    def game_state(self, agent_id: str) -> Frame:
        """What one agent may see of the table: its own cards and nobody else's."""
        return {
            "type": "game_state",
            "handNumber": self.number,
            "street": self.street,
            "pot": self.state.total_pot_amount,
            "board": self.board,
            "cards": self.cards[agent_id],
            "players": [self._seat(index) for index in range(len(self.players))],
        }

    def your_turn(self, action_index: int, deadline_ms: int) -> Frame:
        """Legal actions, the chip range and the deadline, and nothing else."""
        to_call = self.state.checking_or_calling_amount or 0
        legal = (["fold", "call"] if to_call else ["check"]) + (["raise"] if self._may_raise() else [])
        return {
            "type": "your_turn",
            "handNumber": self.number,
            "actionIndex": action_index,
            "legal": legal,
            "toCall": to_call,
            "minRaise": self.state.min_completion_betting_or_raising_to_amount,
            "maxRaise": self.state.max_completion_betting_or_raising_to_amount,
            "deadlineMs": deadline_ms,
        }

    def act(self, action: str, amount: int | None) -> None:
        """Apply the actor's action and deal what follows. Raises ValueError for one that is not legal."""
        if action == "fold":
            self.state.fold()
        elif action in ("check", "call"):
            self.state.check_or_call()
        elif action == "raise":
            self.state.complete_bet_or_raise_to(amount)
        else:
            raise ValueError(f"{action} is not an action")
        self._run_out()

    def result(self) -> Frame:
        """How the hand ended."""
        net = {
            player.agent_id: payoff for player, payoff in zip(self.players, self.state.payoffs, strict=True)
        }
        return {"type": "hand_result", "handNumber": self.number, "board": self.board, "net": net}

    def stacks(self) -> dict[str, int]:
        """Chips after the hand; whoever has few buys in again."""
        left = zip(self.players, self.state.stacks, strict=True)
        return {player.agent_id: stack if stack >= REBUY_BELOW else BUY_IN for player, stack in left}

    def _run_out(self) -> None:
        """Burn and deal until somebody has to act or the hand is over."""
        while self.state.status and self.state.actor_index is None:
            if self.state.can_burn_card():
                self.state.burn_card("??")
            count = 3 if not self.board else 1
            self.state.deal_board("".join(self._deck.pop() for _ in range(count)))

    def _may_raise(self) -> bool:
        return self.state.can_complete_bet_or_raise_to()

    def _seat(self, index: int) -> Frame:
        roles = {0: "small blind", 1: "big blind", len(self.players) - 1: "button"}
        return {
            "agentId": self.players[index].agent_id,
            "role": roles.get(index),
            "stack": self.state.stacks[index],
            "bet": self.state.bets[index],
            "hasFolded": not self.state.statuses[index],
        }
