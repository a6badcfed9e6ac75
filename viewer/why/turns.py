"""Two turns beside each other, with everything that tells why they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from capture.merge import CapturedTurn
from capture_sdk.records import TurnKey
from viewer.why.chain import Chain, chain_of
from viewer.why.known import KnowledgeDiff, knowledge_diff
from viewer.why.prompts import PromptDiff, prompt_diff
from viewer.why.told import Told, told

_UNREADABLE = {
    None: "was not captured",
    "not_captured": "was not captured",
    "too_large": "was too large to keep",
    "envelope_gone": "is gone: its envelope is no longer in the buffer, and was not kept",
    "dictionary_gone": "is gone: the record that it was packed with is no longer in the buffer",
    "record_unreadable": "cannot be read: what is stored of the turn is damaged",
}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two turns; ``turn`` is None where none is there of this key."""

    key: TurnKey
    turn: CapturedTurn | None

    @property
    def prompt(self) -> bytes | None:
        """The whole prompt, where it can be read."""
        record = self.turn.record if self.turn is not None else None
        return record.prompt.whole() if record is not None and record.prompt is not None else None

    @property
    def remainder_at(self) -> int:
        """The byte of the prompt at which its remainder begins; behind its end where it has none."""
        record = self.turn.record if self.turn is not None else None
        prompt = record.prompt if record is not None else None
        if prompt is None or prompt.envelope is None:
            return 0
        return len(prompt.envelope) + (len(prompt.joiner) if prompt.remainder else 1)

    @property
    def knowledge(self) -> bytes | None:
        """The frozen knowledge, where it was captured."""
        record = self.turn.record if self.turn is not None else None
        return record.knowledge if record is not None else None

    @property
    def why_no_prompt(self) -> str:
        """What can be said of a prompt that cannot be read; empty for one that can."""
        if self.turn is None:
            return "is not there: no such turn was captured, or it is gone"
        if self.prompt is not None:
            return ""
        reason = self.turn.prompt_unavailable
        return _UNREADABLE.get(reason, "cannot be read now")


@dataclass(frozen=True)
class Comparison:
    """A turn against an earlier or another one; each difference is worked out when it is asked for."""

    before: Side | None
    after: Side

    @cached_property
    def prompts(self) -> PromptDiff | None:
        """What was told differently; None where one of the prompts cannot be read."""
        if self.before is None or self.before.prompt is None or self.after.prompt is None:
            return None
        return prompt_diff(self.before.prompt, self.after.prompt)

    @cached_property
    def knowledge(self) -> KnowledgeDiff | None:
        """What was known differently; None where one of the two was not captured."""
        return None if self.before is None else knowledge_diff(self.before.knowledge, self.after.knowledge)

    @cached_property
    def told(self) -> Told | None:
        """What of the turn's knowledge its prompt has."""
        return told(self.after.knowledge, self.after.prompt, remainder_at=self.after.remainder_at)

    @cached_property
    def chain(self) -> Chain | None:
        """From what was said to what was sent."""
        record = self.after.turn.record if self.after.turn is not None else None
        return None if record is None else chain_of(record)


def previous(turns: Sequence[CapturedTurn], key: TurnKey) -> CapturedTurn | None:
    """The same agent's captured turn before this one in the hand."""
    earlier = (turn for turn in turns if turn.key.agent_id == key.agent_id)
    before = [turn for turn in earlier if turn.key.action_index < key.action_index]
    return max(before, key=lambda turn: turn.key.action_index, default=None)


def with_previous(turns: Sequence[CapturedTurn], turn: CapturedTurn) -> Comparison:
    """A turn of a hand beside the same agent's previous one, if any was captured."""
    before = previous(turns, turn.key)
    return Comparison(None if before is None else Side(before.key, before), Side(turn.key, turn))
