"""What people said of one turn, as its card shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from capture.limits import VERDICT_NOTE_LENGTH
from capture.models import VerdictKind
from capture.verdicts import Verdict
from capture_sdk.records import TurnKey

MEANING = {
    VerdictKind.STRATEGY: "it knew and was told the right things, and chose badly",
    VerdictKind.MEMORY: "what it knew was not what was so",
    VerdictKind.CLAMP: "it decided one thing, and another was sent",
    VerdictKind.FINE: "nothing was wrong",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the four buttons: its word, what it means, and whether this person has pressed it."""

    kind: VerdictKind
    meaning: str
    is_mine: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """The four choices, this person's own note, and everybody's verdicts, the newest first.

    ``said`` is None where the database does not answer.
    """

    key: TurnKey
    choices: tuple[Choice, ...]
    note: str
    said: tuple[Verdict, ...] | None
    note_length: int = VERDICT_NOTE_LENGTH


def judged(key: TurnKey, of_hand: Sequence[Verdict] | None, *, by: str, note: str | None = None) -> Judged:
    """The card of one turn, of all verdicts on its hand; ``note`` is one that was written and not yet kept."""
    said = None if of_hand is None else tuple(each for each in reversed(of_hand) if each.key == key)
    mine = next((each for each in said or () if each.by == by and each.holds), None)
    choices = tuple(
        Choice(kind, meaning, mine is not None and mine.kind == kind) for kind, meaning in MEANING.items()
    )
    own = mine.note if mine is not None else ""
    return Judged(key, choices, own if note is None else note, said)
