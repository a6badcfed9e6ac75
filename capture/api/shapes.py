"""The JSON shapes of the API: camelCase, every byte accounted for, strict JSON at every size.

The shapes hold values as they were recorded; ``writing`` gives those that JSON has no form for theirs.
"""

from datetime import datetime
from typing import Final

from capture.merge import CapturedTurn, HandView, Standing
from capture.pins.pin import Pin
from capture.recent import HandPage, HandSummary
from capture_sdk.freeze import unpack
from capture_sdk.records import Adjustment, Attempt, Charge, RunKey, TurnRecord

Json = dict[str, object]

OK, UNAVAILABLE = "ok", "unavailable"


def hand_json(view: HandView) -> Json:
    """The answer of ``hand`` and ``hand-all``."""
    expected = view.expected
    return {
        "tableId": view.table_id,
        "handNumber": view.hand_number,
        "turns": [turn_json(turn) for turn in view.turns],
        "fallbacks": [charge_json(charge) for charge in view.fallbacks],
        "sources": sources_json(buffer_ok=view.buffer_ok, durable_ok=view.durable_ok),
        "expected": None if expected is None else {"turns": expected.turns, "fallbacks": expected.fallbacks},
        "missing": [
            {"agentId": each.key.agent_id, "actionIndex": each.key.action_index, "reason": each.reason}
            for each in view.missing
        ],
        "gaps": [
            {
                "agentId": gap.agent_id,
                "afterActionIndex": gap.after,
                "beforeActionIndex": gap.before,
                "turns": gap.turns,
                "reason": gap.reason,
            }
            for gap in view.gaps
        ],
        **standing_json(view.standing),
    }


def turn_json(turn: CapturedTurn) -> Json:
    """One captured turn. Null means not captured; an empty value means captured, and empty."""
    head: Json = {
        "agentId": turn.key.agent_id,
        "actionIndex": turn.key.action_index,
        "agentVersionId": turn.agent_version_id,
        "promptStatus": turn.prompt_status,
        "promptUnavailable": turn.prompt_unavailable,
        "source": turn.source,
        "isPinned": turn.is_pinned,
        "isFallback": False,
        "isClamped": turn.is_clamped,
    }
    return head | _record_json(turn.record)


def charge_json(charge: Charge) -> Json:
    """One row of the ledger: how a fallback is shown."""
    return {
        "agentId": charge.key.agent_id,
        "actionIndex": charge.key.action_index,
        "agentVersionId": charge.agent_version_id,
        "model": charge.model,
        "provider": charge.provider,
        "isFallback": charge.is_fallback,
        "fallbackReason": charge.fallback_reason,
        "attempts": charge.attempts,
        "action": charge.action,
        "amount": charge.amount,
        "tokens": {
            "input": charge.input_tokens,
            "cached": charge.cached_tokens,
            "cacheWrite": charge.cache_write_tokens,
            "output": charge.output_tokens,
            "reasoning": charge.reasoning_tokens,
        },
        "usage": _thawed(charge.usage),
        "costMicros": charge.cost_micros,
        "latencyMs": charge.latency_ms,
        "chargedAt": time_json(charge.charged_at),
    }


def page_json(page: HandPage) -> Json:
    """The answer of ``recent-hands``."""
    return {
        "hands": [summary_json(hand) for hand in page.hands],
        "nextCursor": None if page.next_cursor is None else str(page.next_cursor),
        "sources": sources_json(buffer_ok=page.buffer_ok, durable_ok=True),
    }


def summary_json(hand: HandSummary) -> Json:
    """One row of the recent hands."""
    return {
        "tableId": hand.table_id,
        "handNumber": hand.hand_number,
        "handId": f"{hand.table_id}:{hand.hand_number}",
        "agents": list(hand.agents),
        "turns": hand.turns,
        "fallbacks": hand.fallbacks,
        "clamped": hand.clamped,
        "redacted": hand.redacted,
        "costMicros": hand.cost_micros,
        "firstAt": time_json(hand.first_at),
        "lastAt": time_json(hand.last_at),
        **standing_json(hand.standing),
    }


def standing_json(standing: Standing) -> Json:
    """A hand's state and its figures."""
    return {
        "state": standing.state,
        "live": standing.live,
        "pinned": standing.pinned,
        "expiresInMs": standing.ttl_ms,
    }


def pin_json(pin: Pin) -> Json:
    """The answer of ``promote``."""
    return {"status": pin.status, "inserted": pin.inserted, "total": pin.total, "missing": pin.missing}


def sources_json(*, buffer_ok: bool, durable_ok: bool) -> Json:
    """Which stores answered."""
    return {"buffer": OK if buffer_ok else UNAVAILABLE, "durable": OK if durable_ok else UNAVAILABLE}


def time_json(moment: datetime) -> str:
    """A moment in UTC, as ISO 8601 ending in Z."""
    return moment.isoformat().replace("+00:00", "Z")


def run_key_json(key: RunKey) -> Json:
    """What names a run."""
    return {"agentId": key.agent_id, "runId": key.run_id}


def _record_json(record: TurnRecord | None) -> Json:
    """What the record holds; every field null for one that cannot be read."""
    if record is None:
        return dict(_UNREADABLE)
    prompt = record.prompt
    return {
        "capturedAt": time_json(record.captured_at),
        "knowledge": _thawed(record.knowledge),
        "prompt": None if prompt is None else prompt.text(),
        "promptSha256": None if prompt is None else prompt.sha256,
        "envHash": None if prompt is None else prompt.env_hash,
        "promptIsMessages": prompt is not None and prompt.is_messages,
        "response": record.response,
        "reasoning": record.reasoning,
        "decision": _thawed(record.decision),
        "unsent": _thawed(record.unsent),
        "action": record.action,
        "amount": record.amount,
        "adjustments": [_adjustment_json(each) for each in record.adjustments],
        "attempts": [attempt_json(each) for each in record.attempts],
        "model": record.model,
        "provider": record.provider,
        "routing": record.routing,
        "usage": _thawed(record.usage),
        "costMicros": record.cost_micros,
        "latencyMs": record.latency_ms,
        "error": record.error,
        "redactions": dict(record.redactions),
        "policy": record.policy,
        "rewritten": list(record.rewritten),
        "cut": list(record.cut),
        "artifacts": dict(record.artifacts),
        "clientId": record.client_id,
        "sequence": record.sequence,
        "run": None if record.run is None else run_key_json(record.run),
    }


_UNREADABLE: Final[Json] = dict.fromkeys(
    """capturedAt knowledge prompt promptSha256 envHash promptIsMessages response reasoning decision unsent
    action amount adjustments attempts model provider routing usage costMicros latencyMs error redactions policy
    rewritten cut artifacts clientId sequence run""".split()
)


def _adjustment_json(adjustment: Adjustment) -> Json:
    return {
        "rule": adjustment.rule,
        "before": adjustment.before,
        "after": adjustment.after,
        "why": adjustment.why,
    }


def attempt_json(attempt: Attempt) -> Json:
    """One call of a turn, as the API writes it."""
    return {
        "status": attempt.status,
        "latencyMs": attempt.latency_ms,
        "response": attempt.response,
        "reasoning": attempt.reasoning,
        "error": attempt.error,
    }


def _thawed(frozen: bytes | None) -> object:
    return None if frozen is None else unpack(frozen)
