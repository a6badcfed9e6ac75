"""What is not there, and why: told from the ledger, the clients' own numbers and losses, and the clock. Pure.

The ledger lists turns that have no capture. Where it lists nothing, because it does not answer or was not written,
the clients' numbers still show that something is missing between two captured turns.
"""

import datetime
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from capture_sdk.records import Charge, TurnKey, TurnRecord


class Why(StrEnum):
    """Why a turn is not among the captured ones."""

    LOST = "lost"  # the client counted it as lost before it reached the buffer
    EXPIRED = "expired"  # its time in the buffer has passed
    GONE = "gone"  # inside its time, and no longer there
    BUFFER_UNAVAILABLE = "buffer_unavailable"  # it may be there: the buffer did not answer
    DURABLE_UNAVAILABLE = "durable_unavailable"  # it may be pinned: Postgres did not answer


@dataclass(frozen=True, slots=True)
class MissingTurn:
    """A real inference in the ledger without a captured turn, and why; the charge says what is known."""

    charge: Charge
    reason: Why

    @property
    def key(self) -> TurnKey:
        """Where it belongs."""
        return self.charge.key


@dataclass(frozen=True, slots=True)
class Gap:
    """``turns`` that an agent's client numbered, and of which neither a capture nor a charge is there.

    They lie between the action indexes ``after`` (None: from the beginning) and ``before``.
    """

    agent_id: str
    after: int | None
    before: int
    turns: int
    reason: Why


@dataclass(frozen=True, slots=True)
class Clock:
    """The moment of a read and the buffer's TTL: asked once, passed on."""

    now: datetime.datetime
    ttl_seconds: int

    def has_passed(self, since: datetime.datetime) -> bool:
        """Whether something written then has outlived the buffer."""
        return (self.now - since).total_seconds() > self.ttl_seconds


@dataclass(frozen=True, slots=True)
class Evidence:
    """What absence is judged by: the captured records of a hand, which stores answered, and the clock."""

    records: Sequence[TurnRecord]
    buffer_ok: bool
    durable_ok: bool
    clock: Clock

    def of_agent(self, agent_id: str) -> list[TurnRecord]:
        """One agent's records, by action index."""
        mine = [record for record in self.records if record.key.agent_id == agent_id]
        return sorted(mine, key=lambda record: record.key.action_index)


def why_missing(charge: Charge, evidence: Evidence) -> Why:
    """Why a charged turn has no capture. Absence is a fact only where both stores answered."""
    mine = evidence.of_agent(charge.key.agent_id)
    after = next((record for record in mine if record.key.action_index > charge.key.action_index), None)
    is_lost = False
    if after is not None:
        earlier = [record for record in mine if record.key.action_index < charge.key.action_index]
        before = next((record for record in reversed(earlier) if record.client_id == after.client_id), None)
        is_lost = 0 < _numbered_between(before, after) <= _lost_between(before, after)
    return _reason(evidence, charge.charged_at, is_lost=is_lost)


def gaps(evidence: Evidence, listed: Collection[TurnKey]) -> Iterator[Gap]:
    """What the clients' numbers show to be missing beyond the missing turns that the ledger has ``listed``."""
    for agent_id in sorted({record.key.agent_id for record in evidence.records}):
        latest: dict[str | None, TurnRecord] = {}
        for after in evidence.of_agent(agent_id):
            before = latest.get(after.client_id)
            latest[after.client_id] = after
            first = -1 if before is None else before.key.action_index
            known = sum(
                key.agent_id == agent_id and first < key.action_index < after.key.action_index
                for key in listed
            )
            unlisted = _numbered_between(before, after) - known
            if unlisted > 0:
                is_lost = unlisted <= _lost_between(before, after)
                reason = _reason(evidence, after.captured_at, is_lost=is_lost)
                yield Gap(
                    agent_id, None if before is None else first, after.key.action_index, unlisted, reason
                )


def _numbered_between(before: TurnRecord | None, after: TurnRecord) -> int:
    """How many turns the client numbered between two of its records (from its first, without ``before``)."""
    if after.sequence is None:
        return 0
    first = 0 if before is None or before.sequence is None else before.sequence + 1
    return after.sequence - first


def _lost_between(before: TurnRecord | None, after: TurnRecord) -> int:
    """How many turns the client counted as lost meanwhile, of any agent."""
    return sum(after.losses.values()) - (sum(before.losses.values()) if before is not None else 0)


def _reason(evidence: Evidence, since: datetime.datetime, *, is_lost: bool) -> Why:
    if not evidence.buffer_ok:
        return Why.BUFFER_UNAVAILABLE
    if not evidence.durable_ok:
        return Why.DURABLE_UNAVAILABLE
    if is_lost:
        return Why.LOST
    return Why.EXPIRED if evidence.clock.has_passed(since) else Why.GONE
