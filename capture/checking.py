"""Whether the prompts of many hands are what was recorded, and what is missing of them: counted, and nothing shown."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from capture import hands
from capture.merge import HandView
from capture.recent import HandSummary
from capture_sdk.prompt import PromptStatus

_BY_POLICY: Final = "rewritten"  # told by the record itself: no damage


@dataclass(frozen=True, slots=True)
class Checked:
    """One hand: ``verified`` prompts were hashed just now and are what was recorded, ``unverified`` ones are not, or
    have lost their envelope; ``missing`` turns are those that the ledger lists and no store has.
    """

    verified: int
    unverified: int
    missing: int


def check_hands(summaries: Sequence[HandSummary], *, seconds: float) -> Mapping[int, Checked]:
    """Read and hash the hands in their order, for about so many seconds; by the summary's id, as far as it came.

    Raises StoresUnavailable when neither store answers.
    """
    found: dict[int, Checked] = {}
    deadline = time.monotonic() + seconds
    for summary in summaries:
        if time.monotonic() > deadline:
            break
        found[summary.id] = _checked(hands.get_hand_all(summary.table_id, summary.hand_number))
    return found


def _checked(view: HandView) -> Checked:
    states = [(turn.prompt_status, turn.prompt_unavailable) for turn in view.turns]
    return Checked(
        verified=sum(status is PromptStatus.VERIFIED for status, _ in states),
        unverified=sum(_is_damaged(status, why) for status, why in states),
        missing=len(view.missing),
    )


def _is_damaged(status: PromptStatus, why: str | None) -> bool:
    if status is PromptStatus.MISMATCHED:
        return why != _BY_POLICY
    return status is PromptStatus.UNAVAILABLE and why in ("envelope_gone", "dictionary_gone")
