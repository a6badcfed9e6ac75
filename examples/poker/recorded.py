"""Recorded hands in the PHH format, turn by turn: what each seat could know when it acted, and what it did.

A seat knows its own cards, what lies open, the stacks, the bets and what was done and said aloud so far.
The format: https://phh.readthedocs.io/
"""

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeGuard

from pokerkit import CheckingOrCalling, Folding, HandHistory, State, parse_action

from capture_sdk import IdError
from capture_sdk.keys import checked_id

MOVES: Final = {"f": "fold", "cbr": "raise", "pb": "post_bring_in", "sd": "stand_pat_or_discard"}
VARIANTS: Final = {
    "NT": "no-limit hold'em",
    "FT": "fixed-limit hold'em",
    "NS": "no-limit short-deck hold'em",
    "PO": "pot-limit Omaha",
    "FO/8": "fixed-limit Omaha, high and low split",
    "F7S": "fixed-limit seven card stud",
    "F7S/8": "fixed-limit seven card stud, high and low split",
    "FR": "fixed-limit razz",
    "N2L1D": "no-limit deuce to seven, single draw",
    "F2L3D": "fixed-limit deuce to seven, triple draw",
    "FB": "fixed-limit badugi",
}


class BrokenHand(Exception):
    """A file that is no hand, or whose actions cannot be played; the message has the line and the reason."""


@dataclass(frozen=True, slots=True)
class Move:
    """One recorded action of one player, with what that player could know before it."""

    index: int
    agent_id: str
    text: str
    action: str
    amount: int | float | str | None
    knowledge: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedHand:
    """One file: where it belongs, its game, and its moves in order."""

    table_id: str
    hand_number: int
    variant: str
    moves: tuple[Move, ...]


def read(path: Path) -> RecordedHand:
    """Read and play one file. Raises BrokenHand."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
        fields = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise BrokenHand(str(exc)) from exc
    variant = fields.get("variant")
    if variant not in VARIANTS:
        line = _line_of(text, "variant")
        raise BrokenHand(
            f"line {line}: the variant {variant!r} is not played here ({', '.join(VARIANTS)} are)"
        )
    moves = tuple(_moves(text, fields))
    # Two files with one name are two tables; the same file again is the same table.
    digest = hashlib.sha256(data).hexdigest()[:8]
    number = fields.get("hand", 0)
    return RecordedHand(
        table_id=f"{path.resolve().parent.name}/{path.stem}#{digest}"[-200:],
        hand_number=number if _is_index(number) else 0,
        variant=VARIANTS[variant],
        moves=moves,
    )


def _is_index(number: object) -> TypeGuard[int]:
    """Whether a store can hold it; ``true`` is an int to Python, and a hand number to nobody."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**63


def _moves(text: str, fields: dict[str, Any]) -> Iterator[Move]:
    line = _line_of(text, "actions")
    try:
        history = HandHistory.loads(text)
        names, state = _names(history), history.create_state()
        for name in names:
            checked_id("a player's name", name)
    except IdError as exc:
        raise BrokenHand(f"line {_line_of(text, 'players')}: {exc}") from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise BrokenHand(f"line {_line_of(text, 'variant')}: the hand cannot be set up: {exc}") from exc
    actions = list(history.actions)
    log: list[dict[str, Any]] = []
    done, index, waiting = 0, 0, None
    try:
        # The state is one object that goes on changing: knowledge is read before the action is applied.
        for state, applied in history.state_actions:
            if applied is None and _is_repaired(state):
                raise ValueError(_refusal(history, state, _at(actions, done)))
            if applied is not None:
                done += 1
                if waiting is not None:
                    yield waiting
                    index += 1
                log.append(_said(applied, waiting))
            action = actions[done] if done < len(actions) else ""
            waiting = _move(index, action, state, names, log) if action.startswith("p") else None
    except (ValueError, IndexError, KeyError, TypeError, AssertionError) as exc:
        where = f"line {_line_at(text, line, done)}: action {done + 1} {_at(actions, done)!r}"
        reason = _refusal(history, state, _at(actions, done)) if done < len(actions) else exc
        raise BrokenHand(f"{where} cannot be played: {reason}") from exc


def _is_repaired(state: State) -> bool:
    """Whether the engine has just folded or called for a player, to make an action fit that does not."""
    return bool(state.operations) and isinstance(state.operations[-1], Folding | CheckingOrCalling)


def _refusal(history: HandHistory, state: State, action: str) -> str:
    """Why the engine would not take the action."""
    try:
        parse_action(state, action, history.parse_value)
    except ValueError as exc:
        return str(exc)
    return "it comes too early"


def _at(actions: list[str], place: int) -> str:
    return actions[place] if place < len(actions) else "(the end)"


def _said(action: str, move: Move | None) -> dict[str, Any]:
    """What everybody at the table saw of an action; who was dealt which cards is nobody's but theirs."""
    if move is not None:
        return {"agent": move.agent_id, "action": move.action, "amount": move.amount}
    if action.startswith("d db"):
        return {"board": action.removeprefix("d db").strip()}
    return {"deal": " ".join(action.split()[:3])}


def _move(index: int, action: str, state: State, names: list[str], log: list[dict[str, Any]]) -> Move:
    player, verb, *rest = action.partition("#")[0].split()
    seat = int(player.removeprefix("p")) - 1
    if not 0 <= seat < len(names):
        raise BrokenHand(f"action {action!r} names a player who does not sit here")
    name = MOVES.get(verb) or ("call" if state.checking_or_calling_amount else "check")
    if verb == "sm":
        name = "show" if rest else "muck"
    amount = _number(rest[0]) if verb == "cbr" and rest else rest[0] if rest else None
    return Move(index, names[seat], action, name, amount, _knowledge(state, seat, names, log))


def _knowledge(state: State, seat: int, names: list[str], log: list[dict[str, Any]]) -> dict[str, Any]:
    """What lies open to this seat: its own cards whole, the others' only as far as they lie face up."""
    players = [
        {
            "agentId": name,
            "stack": _plain(state.stacks[place]),
            "bet": _plain(state.bets[place]),
            "isIn": bool(state.statuses[place]),
            "faceUp": [repr(card) for card in state.get_up_cards(place)],
        }
        for place, name in enumerate(names)
    ]
    table = {
        "me": names[seat],
        "cards": [repr(card) for card in state.hole_cards[seat]],
        "board": [repr(card) for cards in state.board_cards for card in cards],
        "pot": _plain(state.total_pot_amount),
        "players": players,
    }
    return {"state": table, "actionLog": list(log)}


def _names(history: HandHistory) -> list[str]:
    """The players' names where the file has them, made different where two are the same."""
    given = list(history.players or [])
    names: list[str] = []
    for place in range(len(history.starting_stacks)):
        name = given[place] if place < len(given) and given[place] else f"p{place + 1}"
        names.append(name if name not in names else f"{name} (p{place + 1})")
    return names


def _number(text: str) -> int | float | str:
    """A chip count as it was written; what is no plain number stays text."""
    return int(text) if text.isdigit() else text


def _plain(number: Any) -> Any:
    """Chips as a plain number, or as text where that is not exact (a fraction of a chip)."""
    return number if isinstance(number, int) else str(number)


def _line_of(text: str, field: str) -> int:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip().startswith(field):
            return number
    return 1


def _line_at(text: str, first: int, place: int) -> int:
    """The line of the action at ``place``: lists may run over several lines."""
    seen = -1
    for number, line in enumerate(text.splitlines()[first - 1 :], start=first):
        seen += line.partition("#")[0].count(",") + line.partition("#")[0].rstrip().endswith("]")
        if seen >= place:
            return number
    return first
