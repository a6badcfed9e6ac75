"""Buffer + durable + ledger → one honest stream. Pure: values in, values out, no store and no clock.

A store that did not answer is given as None, and that is something else than an empty list.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from capture.buffer import BufferedTurn
from capture_sdk.prompt import PromptStatus
from capture_sdk.records import Charge, TurnKey, TurnRecord


class Source(StrEnum):
    """The store that a turn was read from."""

    BUFFER = "buffer"
    DURABLE = "durable"


class Why(StrEnum):
    """Why a turn that the ledger knows is not among the captured ones."""

    LOST = "lost"  # the client counted it as lost before it reached the buffer
    EXPIRED = "expired"  # its time in the buffer has passed, by the ledger's clock
    GONE = "gone"  # inside its time, and no longer there
    BUFFER_UNAVAILABLE = "buffer_unavailable"  # it may be there: the buffer did not answer
    DURABLE_UNAVAILABLE = (
        "durable_unavailable"  # it may be pinned: Postgres failed behind the ledger's answer
    )


@dataclass(frozen=True, slots=True)
class DurableTurn:
    """One pinned turn. ``record`` is None when its bytes do not read as a record."""

    key: TurnKey
    record: TurnRecord | None
    agent_version_id: str | None


@dataclass(frozen=True, slots=True)
class CapturedTurn:
    """One turn as a reader gets it.

    ``record`` is None when what is stored cannot be read; ``ttl_ms`` is what the buffer's copy has left,
    None without one; ``agent_version_id`` falls back on the charge.
    """

    key: TurnKey
    source: Source
    record: TurnRecord | None
    agent_version_id: str | None
    is_pinned: bool
    ttl_ms: int | None
    prompt_status: PromptStatus
    prompt_unavailable: str | None

    @property
    def is_clamped(self) -> bool:
        """Whether what left differs from what was parsed."""
        return self.record is not None and self.record.is_clamped


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
class Expected:
    """What the ledger says there should be."""

    turns: int
    fallbacks: int


class HandState(StrEnum):
    """What a hand is, as a whole."""

    LIVE = "live"
    PARTLY_LIVE = "partly_live"
    PINNED = "pinned"
    GONE = "gone"
    EXPIRED = "expired"
    FALLBACK_ONLY = "fallback_only"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Standing:
    """A hand's state with its figures: turns expected, still live and pinned, and the time left (ms)."""

    state: HandState
    turns: int
    live: int
    pinned: int
    ttl_ms: int | None


@dataclass(frozen=True, slots=True)
class HandView:
    """One hand, or one agent's part of it: captured turns, fallbacks, what is missing, and where we looked.

    ``expected`` is None when the ledger could not be asked.
    """

    table_id: str
    hand_number: int
    turns: tuple[CapturedTurn, ...]
    fallbacks: tuple[Charge, ...]
    missing: tuple[MissingTurn, ...]
    expected: Expected | None
    buffer_ok: bool
    durable_ok: bool
    standing: Standing

    @property
    def agents(self) -> list[str]:
        """Every agent that appears in it, sorted."""
        keys = [turn.key for turn in self.turns] + [charge.key for charge in self.fallbacks]
        return sorted({key.agent_id for key in [*keys, *(each.key for each in self.missing)]})


@dataclass(frozen=True, slots=True)
class Clock:
    """The moment of a read and the buffer's TTL: asked once, passed on."""

    now: datetime.datetime
    ttl_seconds: int

    def has_passed(self, since: datetime.datetime) -> bool:
        """Whether something written then has outlived the buffer."""
        return (self.now - since).total_seconds() > self.ttl_seconds


def merge(
    hand: tuple[str, int],
    *,
    buffered: Sequence[BufferedTurn] | None,
    durable: Sequence[DurableTurn] | None,
    charges: Sequence[Charge] | None,
    clock: Clock,
) -> HandView:
    """Join what the stores gave into one view, by action index and agent."""
    real = {charge.key: charge for charge in charges or () if not charge.is_fallback}
    turns = _turns(hand, buffered or (), durable or (), real)
    present = {turn.key for turn in turns}
    fallbacks = tuple(charge for charge in charges or () if charge.is_fallback and charge.key not in present)
    stores_ok = (buffered is not None, durable is not None)
    missing = tuple(
        MissingTurn(charge, _why(charge, turns, stores_ok=stores_ok, clock=clock))
        for key, charge in real.items()
        if key not in present
    )
    return HandView(
        table_id=hand[0],
        hand_number=hand[1],
        turns=turns,
        fallbacks=fallbacks,
        missing=missing,
        expected=None if charges is None else Expected(len(real), len(charges) - len(real)),
        buffer_ok=buffered is not None,
        durable_ok=durable is not None,
        standing=_standing(turns, missing, fallbacks, buffer_ok=buffered is not None, clock=clock),
    )


def standing(
    *,
    turns: int,
    live: int,
    pinned: int,
    fallbacks: int,
    ttl_ms: int | None,
    last_at: datetime.datetime,
    buffer_ok: bool,
    clock: Clock,
) -> Standing:
    """Name a hand's state from its figures; ``turns`` are real ones by the ledger, fallbacks apart."""
    turns = max(turns, live, pinned)
    if turns == 0 and fallbacks:
        state = HandState.FALLBACK_ONLY
    elif pinned:
        state = HandState.PINNED
    elif not buffer_ok:
        state = HandState.UNKNOWN
    elif live:
        state = HandState.LIVE if live >= turns else HandState.PARTLY_LIVE
    else:
        state = HandState.EXPIRED if clock.has_passed(last_at) else HandState.GONE
    return Standing(state, turns, live, pinned, ttl_ms)


def _turns(
    hand: tuple[str, int],
    buffered: Sequence[BufferedTurn],
    durable: Sequence[DurableTurn],
    charges: dict[TurnKey, Charge],
) -> tuple[CapturedTurn, ...]:
    pinned = {turn.key: turn for turn in durable}
    hot = {TurnKey(*hand, turn.agent_id, turn.action_index): turn for turn in buffered}
    keys = sorted({*pinned, *hot}, key=lambda key: (key.action_index, key.agent_id))
    return tuple(_captured(key, hot.get(key), pinned.get(key), charges.get(key)) for key in keys)


def _captured(
    key: TurnKey, hot: BufferedTurn | None, pinned: DurableTurn | None, charge: Charge | None
) -> CapturedTurn:
    """The buffer's copy wins unless the durable one is more complete (its envelope has gone, say)."""
    from_buffer = hot is not None and (
        pinned is None or _completeness(hot.record) >= _completeness(pinned.record)
    )
    record = hot.record if from_buffer and hot is not None else pinned.record if pinned is not None else None
    status, reason = prompt_status(record)
    if record is None and from_buffer and hot is not None and hot.needs is not None:
        status, reason = PromptStatus.UNAVAILABLE, "dictionary_gone"
    return CapturedTurn(
        key=key,
        source=Source.BUFFER if from_buffer else Source.DURABLE,
        record=record,
        agent_version_id=_version(record, pinned, charge),
        is_pinned=pinned is not None,
        ttl_ms=hot.ttl_ms if hot is not None else None,
        prompt_status=status,
        prompt_unavailable=reason,
    )


def prompt_status(record: TurnRecord | None) -> tuple[PromptStatus, str | None]:
    """Hash the prompt now. The second value says why there is none, or why it is not what was recorded."""
    if record is None:
        return PromptStatus.MISMATCHED, "record_unreadable"
    if record.prompt is None:
        return PromptStatus.UNAVAILABLE, "too_large" if "prompt" in record.cut else "not_captured"
    status = record.prompt.status()
    if "prompt" in record.rewritten and status is not PromptStatus.UNAVAILABLE:
        return PromptStatus.MISMATCHED, "rewritten"  # by a policy: whole, and not what the model saw
    return status, "envelope_gone" if status is PromptStatus.UNAVAILABLE else None


def _completeness(record: TurnRecord | None) -> int:
    """Verified before anything; damage stays visible before absence; unreadable bytes come last."""
    if record is None:
        return 0
    order = (PromptStatus.UNAVAILABLE, PromptStatus.MISMATCHED, PromptStatus.VERIFIED)
    return 1 + order.index(prompt_status(record)[0])


def _version(record: TurnRecord | None, pinned: DurableTurn | None, charge: Charge | None) -> str | None:
    if record is not None and record.agent_version_id is not None:
        return record.agent_version_id
    if pinned is not None and pinned.agent_version_id is not None:
        return pinned.agent_version_id
    return charge.agent_version_id if charge is not None else None


def _why(charge: Charge, turns: Sequence[CapturedTurn], *, stores_ok: tuple[bool, bool], clock: Clock) -> Why:
    """``stores_ok`` says whether the buffer and the durable store answered: only then is absence a fact."""
    if not all(stores_ok):
        return Why.DURABLE_UNAVAILABLE if stores_ok[0] else Why.BUFFER_UNAVAILABLE
    if _losses_cover(charge.key, turns):
        return Why.LOST
    return Why.EXPIRED if clock.has_passed(charge.charged_at) else Why.GONE


def _losses_cover(key: TurnKey, turns: Sequence[CapturedTurn]) -> bool:
    """Whether the client's own numbers explain the gap around ``key``.

    The next captured turn of the same agent states its number and its client's losses so far; measured
    against the turn before the gap, the losses must have grown by at least the numbers that are missing.
    """
    mine = [turn.record for turn in turns if turn.key.agent_id == key.agent_id and turn.record is not None]
    after = next((record for record in mine if record.key.action_index > key.action_index), None)
    if after is None or after.sequence is None:
        return False
    earlier = [record for record in mine if record.key.action_index < key.action_index]
    before = next((record for record in reversed(earlier) if record.client_id == after.client_id), None)
    first = 0 if before is None or before.sequence is None else before.sequence + 1
    gap = after.sequence - first
    grown = sum(after.losses.values()) - (sum(before.losses.values()) if before is not None else 0)
    return 0 < gap <= grown


def _standing(
    turns: Sequence[CapturedTurn],
    missing: Sequence[MissingTurn],
    fallbacks: Sequence[Charge],
    *,
    buffer_ok: bool,
    clock: Clock,
) -> Standing:
    times = [charge.charged_at for charge in fallbacks] + [each.charge.charged_at for each in missing]
    times += [turn.record.captured_at for turn in turns if turn.record is not None]
    left = [turn.ttl_ms for turn in turns if turn.ttl_ms is not None]
    return standing(
        turns=len(turns) + len(missing),
        live=len(left),
        pinned=sum(turn.is_pinned for turn in turns),
        fallbacks=len(fallbacks),
        ttl_ms=max(left, default=None),
        last_at=max(times, default=clock.now),
        buffer_ok=buffer_ok,
        clock=clock,
    )
