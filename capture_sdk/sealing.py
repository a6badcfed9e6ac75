"""From a closed turn to its record and its charge: settled, redacted, split and hashed.

This is the delivery thread's work; only ``charge_of`` is the agent's, after the turn.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from capture_sdk.freeze import jsonable, repack, scalar, settle, unpack
from capture_sdk.prompt import Prompt, split, text_bytes
from capture_sdk.records import Adjustment, Attempt, Charge, TurnKey, TurnRecord, differs, sent_action
from capture_sdk.redact.redactor import Redactor
from capture_sdk.splitting import Splitter, split_at
from capture_sdk.turns import Text, Turn
from capture_sdk.usage import total
from capture_sdk.wire import LATENCY_MS_MAX


def seal(
    turn: Turn, key: TurnKey, *, client_id: str, losses: Mapping[str, int], splitter: Splitter
) -> TurnRecord:
    """Build the record of a closed turn."""
    redactor = _redactor(turn)
    messages, unsent = _decision(turn, redactor)
    knowledge = None if turn.knowledge is None else redactor.frozen(settle(*turn.knowledge), "knowledge")
    labels = _labels(turn, redactor)
    prompt, rewritten = _prompt(turn, key, redactor, splitter)
    response = _faithful(turn.answer, "response", redactor, rewritten)
    reasoning = _faithful(turn.reasoning, "reasoning", redactor, rewritten)
    attempts = tuple(_attempt(Attempt(*each), redactor, rewritten) for each in turn.calls)
    if turn.outbox is not None:
        turn.outbox.learn(redactor.known)
    return TurnRecord(
        key=key,
        captured_at=turn.captured_at,
        agent_version_id=labels["agent_version_id"],
        knowledge=knowledge,
        prompt=prompt,
        response=response,
        reasoning=reasoning,
        decision=None if messages is None else repack(messages),
        unsent=repack(unsent) if unsent else None,
        action=scalar(turn.action),
        amount=scalar(turn.amount),
        adjustments=_adjustments(turn, redactor),
        attempts=attempts,
        model=labels["model"],
        provider=labels["provider"],
        routing=labels["routing"],
        usage=None if turn.usage is None else redactor.frozen(turn.usage, "usage"),
        cost_micros=scalar(turn.cost_micros),
        latency_ms=scalar(turn.latency_ms),
        error=turn.error,
        redactions={str(action): count for action, count in redactor.counts.items()},
        policy=turn.sink.policy.version,
        rewritten=tuple(sorted(rewritten)),
        artifacts=redactor.artifacts,
        client_id=client_id,
        sequence=turn.sequence,
        losses=losses,
        run=turn.run,
    )


def charge_of(turn: Turn, **changes: object) -> Charge:
    """The ledger row of a turn. Whether it was clamped is computed from the messages that left."""
    redactor = _redactor(turn)
    messages, _ = _decision(turn, redactor)
    is_redacted = bool(redactor.counts)
    labels = _labels(turn, redactor)
    tokens = total(turn.tokens)
    sent = sent_action(messages) if messages is not None else None
    parsed = None if turn.action is None else (scalar(turn.action), scalar(turn.amount))
    is_clamped = (
        not turn.is_fallback and parsed is not None and messages is not None and differs(parsed, sent)
    )
    taken = parsed or sent or (None, None)
    fields: dict[str, Any] = {
        "key": turn.key,
        "charged_at": turn.captured_at,
        "agent_version_id": labels["agent_version_id"],
        "model": labels["model"],
        "provider": labels["provider"],
        "input_tokens": tokens.input,
        "cached_tokens": tokens.cached,
        "cache_write_tokens": tokens.cache_write,
        "output_tokens": tokens.output,
        "reasoning_tokens": tokens.reasoning,
        "cost_micros": turn.cost_micros,
        "latency_ms": _waited(turn),
        "attempts": len(turn.calls),
        "is_fallback": turn.is_fallback,
        "fallback_reason": labels["fallback_reason"],
        "is_clamped": is_clamped,
        "is_redacted": is_redacted,
        "action": taken[0],
        "amount": taken[1],
        "usage": None if turn.usage is None else redactor.frozen(turn.usage, "usage"),
    }
    return Charge(**(fields | changes))


def _waited(turn: Turn) -> int | None:
    """Whole milliseconds that all calls took together; None where one is not known, or no ledger could hold it."""
    waited = 0.0
    for _, said, *_ in turn.calls:
        wait = scalar(said)  # which an agent may have made of anything at all
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= LATENCY_MS_MAX:
            return None
        waited += wait
    return round(waited) if turn.calls and waited <= LATENCY_MS_MAX else None


def _redactor(turn: Turn) -> Redactor:
    return Redactor(turn.sink.policy, turn.outbox.secrets if turn.outbox is not None else ())


def _decision(turn: Turn, redactor: Redactor) -> tuple[list[object] | None, list[object]]:
    """The messages that left, and those that did not with the name of what stopped them; None if no door."""
    if turn.sent is None:
        return None, []
    left = [unpack(settle(packed, unsettled)) for packed, unsettled, error in turn.sent if error is None]
    failed = [
        {"message": unpack(settle(packed, unsettled)), "error": error}
        for packed, unsettled, error in turn.sent
        if error is not None
    ]
    messages = redactor.value(left, "decision")
    unsent = redactor.value(failed, "unsent") if failed else []
    return _as_list(messages), _as_list(unsent)


def _as_list(value: object) -> list[object]:
    """A policy may have put one value in the place of the whole list."""
    return value if isinstance(value, list) else [value]


def _adjustments(turn: Turn, redactor: Redactor) -> tuple[Adjustment, ...]:
    return tuple(
        replace(
            each,
            before=redactor.value(each.before, "adjustments"),
            after=redactor.value(each.after, "adjustments"),
            why=_string(redactor.value(each.why, "adjustments")) or "",
        )
        for each in turn.adjustments
    )


def _labels(turn: Turn, redactor: Redactor) -> dict[str, str | None]:
    """The short texts that describe a turn, redacted in one go: a provider's address may hold a password."""
    given = {
        "agent_version_id": scalar(turn.agent_version_id),
        "model": scalar(turn.model),
        "provider": scalar(turn.provider),
        "routing": scalar(turn.routing),
        "fallback_reason": scalar(turn.fallback_reason),
    }
    kept = redactor.value(given, "turn")
    if not isinstance(kept, dict) or kept.keys() != given.keys():
        return dict.fromkeys(given)  # withheld as a whole, and counted as such
    return {name: _string(value) for name, value in kept.items()}


def _attempt(attempt: Attempt, redactor: Redactor, rewritten: set[str]) -> Attempt:
    if attempt.status == "ok" and attempt.latency_ms is None and attempt.error is None:
        return attempt
    return Attempt(
        status=scalar(attempt.status),
        latency_ms=scalar(attempt.latency_ms),
        response=_faithful(attempt.response, "response", redactor, rewritten),
        reasoning=_faithful(attempt.reasoning, "reasoning", redactor, rewritten),
        error=None if attempt.error is None else _string(redactor.value(scalar(attempt.error), "error")),
    )


def _string(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(jsonable(value))


def _faithful(text: Text | None, field: str, redactor: Redactor, rewritten: set[str]) -> Text | None:
    """A field that stays byte for byte, unless the policy names it: then the record says that it was changed."""
    if text is None or not redactor.policy.names(field):
        return text
    kept = redactor.text(text, field)
    if kept != text:
        rewritten.add(field)
    return kept


def _prompt(
    turn: Turn, key: TurnKey, redactor: Redactor, splitter: Splitter
) -> tuple[Prompt | None, set[str]]:
    """The sealed prompt. A rewritten one keeps the sha256 of what the model saw, so it never verifies."""
    rewritten: set[str] = set()
    named = redactor.policy.names("prompt")
    if turn.parts is not None:
        prompt = split(*turn.parts)
        if not named:
            return prompt, rewritten
        whole, is_text, is_messages = prompt.whole() or b"", prompt.is_text, False
    elif turn.whole is not None:
        whole, is_text, is_messages = text_bytes(turn.whole), isinstance(turn.whole, str), False
    elif turn.messages is not None:
        whole, is_text, is_messages = text_bytes(_messages_text(turn.messages)), True, True
    else:
        return None, rewritten
    kept = _faithful(whole, "prompt", redactor, rewritten) if named else whole
    if kept is None:
        return None, rewritten
    kept = text_bytes(kept)
    offset = splitter.split(key.agent_id, kept)
    sealed = split_at(kept, offset, is_text=is_text, is_messages=is_messages)
    if "prompt" in rewritten:
        sealed = replace(sealed, sha256=split_at(whole, 0, is_text=is_text).sha256)
    return sealed, rewritten


def _messages_text(messages: tuple[bytes, bool]) -> str:
    """Chat messages as one text: compact JSON, in their own order, every character as it is."""
    return json.dumps(jsonable(unpack(settle(*messages))), ensure_ascii=False, separators=(",", ":"))
