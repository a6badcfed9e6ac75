"""Search among the turns of the newest hands, the live ones included, by what they are and not by their text."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from capture.hands import get_hand_all
from capture.limits import LIVE_HANDS, LIVE_SECONDS, LIVE_TURNS
from capture.merge import CapturedTurn, HandView
from capture.recent import HandFilter, recent_hands
from capture_sdk.prompt import PromptStatus
from capture_sdk.records import Charge, TurnKey


class Badge(StrEnum):
    """What a turn may be, as its badges say."""

    CLAMPED = "clamped"
    FALLBACK = "fallback"
    REDACTED = "redacted"
    UNVERIFIED = "unverified"
    PROMPT_GONE = "prompt_gone"


@dataclass(frozen=True, slots=True)
class LiveFilter:
    """What a turn has to be; None leaves a thing open, and all that is given must hold."""

    agent_id: str | None = None
    agent_version_id: str | None = None
    model: str | None = None
    action: str | None = None
    badge: Badge | None = None


@dataclass(frozen=True, slots=True)
class LiveHit:
    """One turn: what left (None where that was not captured), and whether it is a fallback, of the ledger alone."""

    key: TurnKey
    agent_version_id: str | None
    model: str | None
    action: str | None
    is_fallback: bool
    ttl_ms: int | None
    is_pinned: bool


@dataclass(frozen=True, slots=True)
class LiveFound:
    """What was found in ``hands`` hands with ``turns`` turns, the newest ones. ``has_more``: older hands, or further
    turns, were not looked through. ``buffer_ok``: whether the buffer answered for every hand.
    """

    hits: tuple[LiveHit, ...]
    hands: int
    turns: int
    has_more: bool
    buffer_ok: bool


def find_turns(wanted: LiveFilter) -> LiveFound:
    """Look through the newest hands in which the agent, version and model were charged. Raises StoresUnavailable.

    At most ``LIVE_HANDS`` hands, ``LIVE_TURNS`` hits and ``LIVE_SECONDS`` seconds.
    """
    ends = time.monotonic() + LIVE_SECONDS
    charged = HandFilter(
        agent_id=wanted.agent_id, agent_version_id=wanted.agent_version_id, model=wanted.model
    )
    page = recent_hands(charged, limit=LIVE_HANDS)
    hits: list[LiveHit] = []
    hands = turns = 0
    buffer_ok = page.buffer_ok
    for summary in page.hands:
        if time.monotonic() > ends or len(hits) >= LIVE_TURNS:
            break
        view = get_hand_all(summary.table_id, summary.hand_number)
        buffer_ok = buffer_ok and view.buffer_ok
        hands, turns = hands + 1, turns + len(view.turns) + len(view.fallbacks)
        hits += _hits(view, wanted)
    has_more = page.next_cursor is not None or hands < len(page.hands) or len(hits) > LIVE_TURNS
    return LiveFound(tuple(hits[:LIVE_TURNS]), hands, turns, has_more, buffer_ok)


_IS: Final[Mapping[Badge, Callable[[CapturedTurn], bool]]] = {
    Badge.CLAMPED: lambda turn: turn.is_clamped,
    Badge.FALLBACK: lambda turn: False,  # a captured turn is none: those stand in the ledger
    Badge.REDACTED: lambda turn: turn.record is not None and bool(turn.record.redactions),
    Badge.UNVERIFIED: lambda turn: turn.prompt_status is not PromptStatus.VERIFIED,
    Badge.PROMPT_GONE: lambda turn: turn.prompt_unavailable == "envelope_gone",
}


def _hits(view: HandView, wanted: LiveFilter) -> list[LiveHit]:
    """A hand's turns that are wanted, by action index."""
    captured = [_of_turn(turn) for turn in view.turns if wanted.badge is None or _IS[wanted.badge](turn)]
    no_turns = wanted.badge is not None and wanted.badge is not Badge.FALLBACK
    fallbacks = [] if no_turns else [_of_charge(charge) for charge in view.fallbacks]
    every = sorted([*captured, *fallbacks], key=lambda hit: (hit.key.action_index, hit.key.agent_id))
    return [hit for hit in every if _is_wanted(hit, wanted)]


def _is_wanted(hit: LiveHit, wanted: LiveFilter) -> bool:
    pairs = (
        (wanted.agent_id, hit.key.agent_id),
        (wanted.agent_version_id, hit.agent_version_id),
        (wanted.model, hit.model),
        (wanted.action, hit.action),
    )
    return all(asked is None or asked == found for asked, found in pairs)


def _of_turn(turn: CapturedTurn) -> LiveHit:
    record = turn.record
    model, action = (None, None) if record is None else (record.model, record.action)
    return LiveHit(turn.key, turn.agent_version_id, model, action, False, turn.ttl_ms, turn.is_pinned)


def _of_charge(charge: Charge) -> LiveHit:
    return LiveHit(charge.key, charge.agent_version_id, charge.model, charge.action, True, None, False)
