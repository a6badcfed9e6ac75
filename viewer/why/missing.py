"""What is missing of a list that others held more of: which of its entries, and the words for it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from capture.limits import DIFF_EDITS
from viewer.why.edits import stretches
from viewer.why.lists import Entries


@dataclass(frozen=True, slots=True)
class NotKnown:
    """One list of the agent's knowledge that others held more of.

    ``others`` and ``own`` count entries, ``missing`` are the places of the longest list that are not in the agent's.
    ``knew`` of these the agent itself held at ``knew_at``, its earlier turn that held the most of them; 0 and None
    where it never did.
    """

    path: str
    others: int
    own: int
    missing: tuple[int, ...]
    knew: int
    knew_at: int | None

    @property
    def sentence(self) -> str:
        """One sentence, or two."""
        entries = "entry" if self.others == 1 else "entries"
        told = f"Others at the table had seen {self.others} {entries} of {self.path} by now"
        missing = f"this agent's holds {self.own}: missing {_which(self.missing, self.others)}."
        if self.knew_at is None:
            return f"{told}; {missing}"
        part = f"{self.knew} of them" if self.knew < len(self.missing) else "it" if self.knew == 1 else "them"
        return f"{told}; {missing} It still held {part} at {self.knew_at}."


def absent_places(longest: Entries, own: Entries) -> list[int]:
    """The places of the one list that the other does not have; at one end where it can be either."""
    if own == longest[len(longest) - len(own) :]:
        return list(range(len(longest) - len(own)))
    if own == longest[: len(own)]:
        return list(range(len(own), len(longest)))
    parts = stretches(longest, own, most=DIFF_EDITS)
    # What stands elsewhere in the agent's list is not missing: each entry there stands for one here.
    elsewhere = Counter(
        own[place] for part in parts if not part.is_same for place in range(part.to_start, part.to_end)
    )
    absent = []
    for place in (place for part in parts if not part.is_same for place in range(part.start, part.end)):
        elsewhere[longest[place]] -= 1
        if elsewhere[longest[place]] < 0:
            absent.append(place)
    return absent


def _which(missing: Sequence[int], others: int) -> str:
    """Which entries: the first three, the last two, number 2 and 5, or so many."""
    count, first, last = len(missing), missing[0], missing[-1]
    if count == others:
        return "is the only one" if count == 1 else "are all of them"
    if last - first + 1 == count and (first == 0 or last == others - 1):
        side = "first" if first == 0 else "last"
        return f"is the {side} one" if count == 1 else f"are the {side} {count}"
    if count == 1:
        return f"is number {first + 1}"
    numbers = [str(place + 1) for place in missing]
    return (
        f"are numbers {', '.join(numbers[:-1])} and {numbers[-1]}" if count <= 5 else f"are {count} of them"
    )
