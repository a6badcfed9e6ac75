"""Buffer + durable + ledger → one honest stream. Pure: values in, values out, no store and no clock.

A store that did not answer is given as None, and that is something else than an empty list.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from capture.absence import Clock, Evidence, Gap, MissingTurn, gaps, why_missing
from capture.buffer import BufferedTurn
from capture_sdk.prompt import PromptStatus
from capture_sdk.records import Charge, TurnKey, TurnRecord


class Source(StrEnum):
    """The store that a turn was read from."""

    BUFFER = "buffer"
    DURABLE = "durable"


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
    """A hand's state with its figures: turns expected, still live and pinned, and the time left (ms).

    ``state`` is None for a hand that no store knows anything of, while all of them answered.
    """

    state: HandState | None
    turns: int
    live: int
    pinned: int
    ttl_ms: int | None


@dataclass(frozen=True, slots=True)
class HandView:
    """One hand, or one agent's part of it: captured turns, fallbacks, what is missing, and where we looked.

    ``missing`` are turns that the ledger lists, ``gaps`` what it does not list and the clients' numbers show.
    ``expected`` is None when the ledger could not be asked.
    """

    table_id: str
    hand_number: int
    turns: tuple[CapturedTurn, ...]
    fallbacks: tuple[Charge, ...]
    missing: tuple[MissingTurn, ...]
    gaps: tuple[Gap, ...]
    expected: Expected | None
    buffer_ok: bool
    durable_ok: bool
    standing: Standing

    @property
    def agents(self) -> list[str]:
        """Every agent that appears in it, sorted."""
        keys = [turn.key for turn in self.turns] + [charge.key for charge in self.fallbacks]
        return sorted({key.agent_id for key in [*keys, *(each.key for each in self.missing)]})


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
    records = [turn.record for turn in turns if turn.record is not None]
    evidence = Evidence(records, buffered is not None, durable is not None, clock)
    absent = [charge for key, charge in real.items() if key not in present]
    missing = tuple(MissingTurn(charge, why_missing(charge, evidence)) for charge in absent)
    unlisted = tuple(gaps(evidence, [charge.key for charge in absent]))
    return HandView(
        table_id=hand[0],
        hand_number=hand[1],
        turns=turns,
        fallbacks=fallbacks,
        missing=missing,
        gaps=unlisted,
        expected=None if charges is None else Expected(len(real), len(charges) - len(real)),
        buffer_ok=buffered is not None,
        durable_ok=durable is not None,
        standing=_standing(turns, missing, unlisted, fallbacks, evidence),
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
    durable_ok: bool = True,
) -> Standing:
    """Name a hand's state from its figures; ``turns`` are real ones by the ledger, fallbacks apart.

    Without the ledger nobody knows how many there should be, and without the buffer how many are left: what is
    there is counted then, and not called complete.
    """
    turns = max(turns, live, pinned)
    state: HandState | None
    if turns == 0 and fallbacks:
        state = HandState.FALLBACK_ONLY
    elif pinned:
        state = HandState.PINNED
    elif not (buffer_ok and durable_ok):
        state = HandState.UNKNOWN
    elif turns == 0:
        state = None
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


def _standing(
    turns: Sequence[CapturedTurn],
    missing: Sequence[MissingTurn],
    unlisted: Sequence[Gap],
    fallbacks: Sequence[Charge],
    evidence: Evidence,
) -> Standing:
    times = [charge.charged_at for charge in fallbacks] + [each.charge.charged_at for each in missing]
    times += [record.captured_at for record in evidence.records]
    left = [turn.ttl_ms for turn in turns if turn.ttl_ms is not None]
    return standing(
        turns=len(turns) + len(missing) + sum(gap.turns for gap in unlisted),
        live=len(left),
        pinned=sum(turn.is_pinned for turn in turns),
        fallbacks=len(fallbacks),
        ttl_ms=max(left, default=None),
        last_at=max(times, default=evidence.clock.now),
        buffer_ok=evidence.buffer_ok,
        durable_ok=evidence.durable_ok,
        clock=evidence.clock,
    )
