"""The turns that every recorder gets: a made-up poker agent's, the same ones in every run.

1,353 turns of 443 hands under 7 envelopes. A turn repeats most of what the turn before it in the hand
knew and was told, and a hand most of the hand before it, because a real agent's notes, statistics and
history change slowly. The words are made of syllables: nothing here was written by or about a person.

``python -m bench.workload`` prints the sizes.
"""

import json
import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from math import ceil
from statistics import fmean
from typing import Any, Final

HANDS: Final = 443
TURNS: Final = 1_353
ENVELOPES: Final = 7
TABLE: Final = "table-07"
AGENT: Final = "agent-3"

_SEATS: Final = ("agent-3", "zoë", "marlow", "k0bold", "lúcia", "old_ferry")
_STREETS: Final = ("preflop", "flop", "turn", "river", "river", "river")
_BOARD: Final = (0, 3, 4, 5, 5, 5)
_MOVES: Final = ("fold", "check", "call", "bet", "raise")
_TERMS: Final = tuple(
    "range board pot stack blind flop river turn call raise fold bluff value equity draw pair kicker "
    "position button opponent villain size odds line pressure thin wide tight loose passive steady "
    "however because unless before after against behind often rarely always".split()
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn, made of objects nobody else holds. ``prompt`` is ``envelope + remainder``."""

    number: int
    hand: int
    action_index: int
    version: str
    envelope: str
    remainder: str
    prompt: str
    knowledge: dict[str, Any]
    response: str
    message: dict[str, Any]

    @property
    def name(self) -> str:
        """A name no other turn has, which a sink can find again in what it was sent."""
        return f"benchturn{self.number:07d}"


def lines() -> list[str]:
    """The whole workload, a JSON document a turn: the compact form of which turns are made."""
    dice = _dice(1)
    envelopes = [_envelope(version) for version in range(ENVELOPES)]
    return list(chain.from_iterable(_hands(dice, envelopes)))


def turn(line: str, number: int, lap: int = 0) -> Turn:
    """Make a turn of new objects: a string encoded before would be cheaper to encode again.

    ``lap`` counts how often the workload was begun anew; hands of another lap are other hands.
    """
    fields = json.loads(line)
    prompt = fields["envelope"] + fields["remainder"]
    return Turn(**fields | {"number": number, "hand": fields["hand"] + lap * 10_000, "prompt": prompt})


def endless(source: list[str]) -> Iterator[Turn]:
    """Turn after turn, each made when it is asked for; after the last comes the first, of another hand."""
    number = 0
    while True:
        lap, place = divmod(number, len(source))
        yield turn(source[place], number, lap)
        number += 1


def turns(count: int = TURNS) -> list[Turn]:
    """The first ``count`` turns, all made now."""
    return list(islice(endless(lines()), count))


def raw_bytes(each: Turn) -> int:
    """What the turn is in UTF-8 and compact JSON, nothing shared or compressed."""
    parts = (each.prompt, each.response, _compact(each.knowledge), _compact(each.message))
    return sum(len(part.encode()) for part in parts)


# The hands.


class _Table:
    """What lasts from hand to hand: statistics, notes and the histories of the last hands."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.notes = [_note(dice) for _ in range(19)]
        self.players = {name: _statistics(dice) for name in _SEATS[1:]}
        self.past = [_history(dice, 52_000 + each) for each in range(11)]

    def moves_on(self, hand: int) -> None:
        """After a hand: its history comes, the oldest goes, some numbers and a note change."""
        self.past = [*self.past[1:], _history(self.dice, hand)]
        for numbers in self.players.values():
            if self.dice.random() < 0.6:
                numbers["hands"] += 1
                numbers["entered"] = round(numbers["entered"] + self.dice.uniform(-0.5, 0.5), 2)
                numbers["seen"] = hand
        if self.dice.random() < 0.35:
            self.notes = [*self.notes[1:], _note(self.dice)]


def _hands(dice: random.Random, envelopes: list[str]) -> Iterator[Iterator[str]]:
    table = _Table(dice)
    for place, length in enumerate(_lengths(dice)):
        hand, version = 53_000 + place, place * ENVELOPES // HANDS
        yield (_compact(each) for each in _hand(table, hand, length, version, envelopes[version]))
        table.moves_on(hand)


def _lengths(dice: random.Random) -> list[int]:
    """How many turns each hand has: one to six, and ``TURNS`` together."""
    lengths = [dice.choice((1, 2, 3, 3, 4)) for _ in range(HANDS)]
    while sum(lengths) != TURNS:
        place, step = dice.randrange(HANDS), 1 if sum(lengths) < TURNS else -1
        lengths[place] = min(6, max(1, lengths[place] + step))
    return lengths


def _hand(
    table: _Table, hand: int, length: int, version: int, envelope: str
) -> Iterator[Mapping[str, object]]:
    dice = table.dice
    deck = _deck(dice)
    stacks = {name: dice.randint(40, 260) for name in _SEATS}
    betting: list[dict[str, object]] = []
    for index in range(length):
        betting += _bets(dice, dice.randint(1, 3))
        state = _state(dice, hand, index, deck, stacks, betting)
        message = _message(dice, hand, index)
        yield {
            "hand": hand,
            "action_index": index,
            "version": f"v{version}",
            "envelope": envelope,
            "remainder": _remainder(state, table),
            "knowledge": _knowledge(table, state, version),
            "response": _response(dice, message),
            "message": message,
        }


def _state(
    dice: random.Random,
    hand: int,
    index: int,
    deck: list[str],
    stacks: Mapping[str, int],
    betting: list[dict[str, object]],
) -> dict[str, object]:
    pot = 3 + sum(int(str(bet["amount"])) for bet in betting)
    return {
        "hand": hand,
        "street": _STREETS[index],
        "cards": deck[:2],
        "board": deck[2 : 2 + _BOARD[index]],
        "pot": pot,
        "owed": dice.randint(0, pot),
        "stacks": dict(stacks),
        "betting": list(betting),
        "legal": {"fold": None, "call": dice.randint(1, 60), "raise": [dice.randint(2, 60), 260]},
    }


def _knowledge(table: _Table, state: Mapping[str, object], version: int) -> dict[str, object]:
    """What the context builder is called with: about 7.8 KB of nested plain data."""
    dice = table.dice
    return {
        "state": state,
        "players": table.players,
        "notes": table.notes,
        "recent_hands": [{"text": text[:260], "net": len(text) % 90 - 45} for text in table.past],
        "chances": {f"{mine}{theirs}": round(dice.random(), 4) for mine in "AKQJ" for theirs in "T98765"},
        "settings": {"model": "model-a", "temperature": 0.3, "limit": 900, "version": version, "tools": []},
        "clock": {"left_ms": dice.randint(2_000, 30_000), "trip_ms": round(dice.uniform(4, 90), 3)},
    }


def _remainder(state: Mapping[str, object], table: _Table) -> str:
    """The part of the prompt that changes: about 4.2 KB."""
    players = "\n".join(
        f"- {name}: {numbers['hands']} hands, enters {numbers['entered']} %, {numbers['kind']}"
        for name, numbers in table.players.items()
    )
    situation = json.dumps(state, ensure_ascii=False, indent=1)
    past = "\n\n".join(table.past)
    return f"NOW\n{situation}\n\nPLAYERS\n{players}\n\nLAST HANDS\n{past}\n\nThink, then give one action."


def _response(dice: random.Random, message: Mapping[str, object]) -> str:
    """About 1.3 KB: thoughts with a dash, as models like them, then the action."""
    return f"{prose(dice, 530)} – {prose(dice, 530)}\n\n```json\n{_compact(message)}\n```"


def _message(dice: random.Random, hand: int, index: int) -> dict[str, object]:
    """What leaves for the table: about 0.2 KB."""
    return {
        "type": "player_action",
        "table": TABLE,
        "hand": hand,
        "index": index,
        "action": dice.choice(_MOVES),
        "amount": dice.randint(2, 240),
        "sure": round(dice.random(), 3),
        "remark": prose(dice, 62),
    }


def _bets(dice: random.Random, count: int) -> list[dict[str, object]]:
    return [
        {"seat": dice.choice(_SEATS), "move": dice.choice(_MOVES), "amount": dice.randint(0, 40)}
        for _ in range(count)
    ]


def _statistics(dice: random.Random) -> dict[str, Any]:
    return {
        "hands": dice.randint(10, 600),
        "entered": round(dice.uniform(9, 60), 2),
        "raised": round(dice.uniform(4, 40), 2),
        "pushed": round(dice.uniform(0.4, 5), 3),
        "shown": round(dice.uniform(15, 45), 2),
        "kind": dice.choice(("careful", "wild", "stubborn", "unknown")),
        "seen": 52_990,
    }


def _history(dice: random.Random, hand: int) -> str:
    deck = _deck(dice)
    rows = [f"Hand {hand}, blinds 1/2, button on seat {dice.randint(1, 6)}, cards {deck[0]} {deck[1]}"]
    for index in range(dice.choice((1, 2, 3, 4))):
        rows.append(f"-- {_STREETS[index]} [{' '.join(deck[2 : 2 + _BOARD[index]])}]")
        rows += [f"{bet['seat']} {bet['move']} {bet['amount']}" for bet in _bets(dice, dice.randint(3, 6))]
    return "\n".join([*rows, f"{dice.choice(_SEATS)} wins {dice.randint(5, 300)}"])


def _note(dice: random.Random) -> str:
    return f"{dice.choice(_SEATS)}: {prose(dice, 180)}"


def _deck(dice: random.Random) -> list[str]:
    deck = [rank + suit for rank in "23456789TJQKA" for suit in "shdc"]
    dice.shuffle(deck)
    return deck


# The words.


def _envelope(version: int) -> str:
    """About 11.8 KB: a common part, then what this version of the agent was taught."""
    common, own = _dice(7), _dice(100 + version)
    rules = "\n".join(f"{number}. {prose(common, 140)}" for number in range(1, 47))
    lessons = "\n\n".join(f"LESSON {number}\n{prose(own, 710)}" for number in range(1, 8))
    return f"You play poker at a table of six.\n\nRULES\n{rules}\n\n{lessons}\n\n"


def prose(dice: random.Random, size: int) -> str:
    """Sentences of ``size`` characters together."""
    text = ""
    while len(text) < size:
        text += _sentence(dice) + " "
    return text[:size]


def lines_of_prose(size: int) -> str:
    """Lines of ``size`` characters together."""
    dice = _dice(11)
    return "".join(f"\n{prose(dice, 139)}" for _ in range(ceil(size / 140)))[:size]


def _sentence(dice: random.Random) -> str:
    words = dice.choices(_VOCABULARY, cum_weights=_COMMONNESS, k=dice.randint(6, 17))
    if dice.random() < 0.4:
        words.insert(dice.randrange(1, len(words)), f"{dice.randint(2, 98)} %")
    return f"{' '.join(words).capitalize()}."


def _words(count: int) -> list[str]:
    """The terms of the game, then words of one to four syllables."""
    dice = _dice(3)
    syllables = [
        start + vowel + end for start in "bdfglmnprstv" for vowel in "aeiou" for end in ("", "n", "r")
    ]
    made = ("".join(dice.choices(syllables, k=dice.choice((1, 2, 2, 3, 4)))) for _ in iter(int, 1))
    found = dict.fromkeys(_TERMS)
    while len(found) < count:
        found[next(made)] = None
    words = list(found)
    dice.shuffle(words)
    return words


def _dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - the same turns in every run are the point


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_VOCABULARY: Final = _words(2_400)
# As in a language: the word at place n is about n times rarer than the first.
_COMMONNESS: Final = list(accumulate(1 / (place + 3) for place in range(len(_VOCABULARY))))


def sizes(every: Iterable[Turn]) -> str:
    """A line about how large the turns are, in bytes of UTF-8 on average."""
    every = list(every)
    parts = {
        "envelope": [each.envelope for each in every],
        "remainder": [each.remainder for each in every],
        "knowledge": [_compact(each.knowledge) for each in every],
        "response": [each.response for each in every],
        "message": [_compact(each.message) for each in every],
    }
    means = {name: fmean(len(text.encode()) for text in texts) for name, texts in parts.items()}
    listed = ", ".join(f"{name} {mean:,.0f}" for name, mean in means.items())
    hands, envelopes = len({each.hand for each in every}), len(set(parts["envelope"]))
    raw = fmean(map(raw_bytes, every))
    return f"{len(every):,} turns, {hands} hands, {envelopes} envelopes; {raw:,.0f} B a turn: {listed}"


if __name__ == "__main__":
    sys.stdout.write(sizes(turns()) + "\n")
