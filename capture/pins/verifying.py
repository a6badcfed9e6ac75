"""Every prompt that is kept, hashed anew: what can still be proven, and what can no longer.

Bounded in memory, read in short queries, and it changes nothing: safe at any time, and with two at once.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from capture.limits import LISTED_TURNS
from capture.merge import prompt_status
from capture.models import AgentCallRecord
from capture.pins.walking import key_of, stored_envelope, stored_record, walk_records
from capture_sdk.records import TurnKey, TurnRecord

_ENVELOPES_HELD = 4  # pins of one seat lie together: their next turn mostly needs the same one


class Verdict(StrEnum):
    """What hashing a pinned turn's prompt told."""

    VERIFIED = "verified"
    MISMATCHED = "mismatched"  # it is whole, and not what was recorded
    REWRITTEN = "rewritten"  # a redaction policy changed it before it was stored: nothing to prove, no damage
    UNAVAILABLE = "unavailable"  # there is no prompt, or its envelope has gone
    UNREADABLE = "unreadable"  # the record's own bytes are damaged


@dataclass(frozen=True, slots=True)
class Finding:
    """One turn that is not verified, and why."""

    key: TurnKey
    verdict: Verdict
    reason: str


@dataclass(slots=True)
class Verification:
    """The sum. ``unavailable`` counts by reason; ``findings`` end at a limit, behind which ``unlisted`` counts."""

    counts: Counter[Verdict] = field(default_factory=Counter)
    unavailable: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    unlisted: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether nothing that is kept has changed."""
        return not self.counts[Verdict.MISMATCHED] and not self.counts[Verdict.UNREADABLE]

    def add(self, key: TurnKey, verdict: Verdict, reason: str | None) -> None:
        """Count one turn."""
        self.counts[verdict] += 1
        if verdict is Verdict.UNAVAILABLE:
            self.unavailable[reason or "unknown"] += 1
        if verdict is Verdict.VERIFIED:
            return
        if len(self.findings) < LISTED_TURNS:
            self.findings.append(Finding(key, verdict, reason or verdict))
        else:
            self.unlisted += 1


def verify_records(
    *, table_id: str | None = None, hand_number: int | None = None, on_turns: Callable[[int], object]
) -> Verification:
    """Hash every pinned prompt, or those of one table or hand; ``on_turns`` is told how many were done."""
    found = Verification()
    for rows in walk_records(_scope(table_id, hand_number)):
        for key, record in _records(rows):
            found.add(key, *judge(record))
        on_turns(len(rows))
    return found


def count_records(*, table_id: str | None = None, hand_number: int | None = None) -> int:
    """How many turns ``verify_records`` will look at."""
    return AgentCallRecord.objects.filter(**_scope(table_id, hand_number)).count()


def judge(record: TurnRecord | None) -> tuple[Verdict, str | None]:
    """Hash one record's prompt, its envelope put back; the second value says why it is not verified."""
    status, reason = prompt_status(record)
    if record is None:
        return Verdict.UNREADABLE, reason
    if reason == "rewritten":
        return Verdict.REWRITTEN, reason
    return Verdict(status.value), reason


def _scope(table_id: str | None, hand_number: int | None) -> dict[str, str | int]:
    given = {"table_id": table_id, "hand_number": hand_number}
    return {name: value for name, value in given.items() if value is not None}


def _records(rows: list[AgentCallRecord]) -> Iterator[tuple[TurnKey, TurnRecord | None]]:
    envelope = lru_cache(maxsize=_ENVELOPES_HELD)(stored_envelope)
    for row in rows:
        record = stored_record(row)
        if record is not None and record.prompt is not None and record.prompt.env_hash is not None:
            seat = (row.table_id, row.hand_number, row.agent_id)
            record = record.with_envelope(envelope(seat, record.prompt.env_hash))
        yield key_of(row), record
