"""The hand from left to right: its turns by street, as far as the agents' own knowledge tells one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from viewer.present import Row

_NAMES: Final = ("street", "round", "phase")
_BOARDS: Final = ("board", "communityCards", "community_cards")
_BY_CARDS: Final = {0: "Preflop", 3: "Flop", 4: "Turn", 5: "River"}
_LONGEST: Final = 40  # characters of a street's name
_CARD: Final = re.compile(r"(?:[2-9TJQKA]|10)[shdc]")
_SUITS: Final = str.maketrans({"s": "♠", "h": "♥", "d": "♦", "c": "♣"})


@dataclass(frozen=True, slots=True)
class Street:
    """A stretch of the hand; ``name`` is empty where nothing is known of streets.

    ``board`` is what lay open in it, ``cards`` what of that is new, with the suits as signs.
    """

    name: str
    board: tuple[str, ...]
    cards: str
    rows: tuple[Row, ...]


def streets(rows: Sequence[Row]) -> list[Street]:
    """The rows in stretches of one street. A turn that was not captured belongs to the street before it."""
    found: list[Street] = []
    for row in rows:
        told = _told(row.known)
        last = found[-1] if found else None
        if last is not None and (told is None or told == (last.name, last.board)):
            found[-1] = replace(last, rows=(*last.rows, row))
        else:
            name, board = told or ("", ())
            found.append(Street(name, board, _new_cards(board, last), (row,)))
    return found


def _new_cards(board: tuple[str, ...], last: Street | None) -> str:
    known = len(last.board) if last is not None and board[: len(last.board)] == last.board else 0
    fresh = [each.translate(_SUITS) if _CARD.fullmatch(each) else each for each in board[known:]]
    return " ".join(fresh)[:_LONGEST]


def _told(known: object) -> tuple[str, tuple[str, ...]] | None:
    """The street and the cards that lie open, as an agent knew them; None where it says nothing of either."""
    for place in _places(known):
        board = next((place[name] for name in _BOARDS if isinstance(place.get(name), list)), None)
        name = next((place[name] for name in _NAMES if isinstance(place.get(name), str)), None)
        if board is None and name is None:
            continue
        cards = tuple(each for each in board or () if isinstance(each, str))[:5]
        shown = name if name is not None else _BY_CARDS.get(len(board or ()), "")
        return shown[:_LONGEST], cards
    return None


def _places(known: object) -> Iterator[dict[str, Any]]:
    """Where an agent may say it: at the top of what it knew, and in each mapping just below."""
    if isinstance(known, dict):
        yield known
        yield from (each for each in known.values() if isinstance(each, dict))
