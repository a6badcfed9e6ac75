"""Turns as plain JSON, for agents that have no SDK: checked field by field, redacted, and made into records.

    tableId handNumber agentId actionIndex                          needed
    prompt                                                          the whole, as text or as a list of messages; or
    envelope remainder joiner                                       its two parts (joiner "\\n" unless given); or
    envHash remainder joiner promptSha256                           an envelope that the buffer is thought to have
    capturedAt agentVersionId knowledge response reasoning decision unsent action amount adjustments attempts
    model provider routing usage costMicros latencyMs error clientId sequence losses run

A text may be ``{"$bytes": base64}`` where it is no text. A field that is null or left out was not captured. The
default capture policy is applied here, since no SDK has done it: to everything but prompt, response and reasoning.
"""

import datetime
import json
from collections.abc import Callable
from typing import Any, Final

from django.utils import timezone

from capture.ingest.prompts import PROMPT_FIELDS, Item, Text, prompt_from_json, read_text
from capture.limits import CHARGE_NUMBER
from capture_sdk.errors import RecordError
from capture_sdk.freeze import pack, unpack
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.records import Adjustment, Attempt, RunKey, TurnKey, TurnRecord
from capture_sdk.redact.policy import CapturePolicy
from capture_sdk.redact.redactor import Redactor
from capture_sdk.wire import time_from_json

_POLICY: Final = CapturePolicy()


def record_from_json(item: Item) -> TurnRecord:
    """The record that a plain item stands for. Raises RecordError or IdError naming the field."""
    if unknown := item.keys() - _FIELDS:
        raise RecordError(f"{min(unknown)[:40]!r} is no field of a turn")
    key = TurnKey(
        checked_id("tableId", item.get("tableId")),
        checked_index("handNumber", item.get("handNumber")),
        checked_id("agentId", item.get("agentId")),
        checked_index("actionIndex", item.get("actionIndex")),
    )
    redactor = Redactor(_POLICY)
    fields = {
        name: read(camel, item[camel], redactor)
        for camel, (name, read) in _READ.items()
        if item.get(camel) is not None
    }
    fields.setdefault("captured_at", timezone.now())
    prompt = prompt_from_json(item)
    counts = {str(action): count for action, count in redactor.counts.items()}
    return TurnRecord(key=key, prompt=prompt, redactions=counts, policy=_POLICY.version, **fields)


def _string(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise RecordError(f"{name} must be text, not {type(given).__name__}")
    return given


def _number(name: str, given: object) -> int | float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise RecordError(f"{name} must be a number, not {type(given).__name__}")
    return given


def _list(name: str, given: object) -> list[Any]:
    if not isinstance(given, list):
        raise RecordError(f"{name} must be a list, not {type(given).__name__}")
    return given


def _object(name: str, given: object, known: set[str]) -> Item:
    if not isinstance(given, dict) or given.keys() - known:
        raise RecordError(f"{name} must be an object of {', '.join(sorted(known))}, not {str(given)[:80]}")
    return given


# The readers: each takes the field's name, what was given, and the redactor.


def _frozen(name: str, given: object, redactor: Redactor) -> bytes:
    return redactor.frozen(pack(given), name)


def _messages(name: str, given: object, redactor: Redactor) -> bytes:
    return _frozen(name, _list(name, given), redactor)


def _label(name: str, given: object, redactor: Redactor) -> str:
    kept = redactor.value(_string(name, given), name)
    return kept if isinstance(kept, str) else json.dumps(kept)


def _faithful(name: str, given: object, redactor: Redactor) -> Text:
    return read_text(name, given)


def _amount(name: str, given: object, redactor: Redactor) -> object:
    return given if isinstance(given, str) else _number(name, given)


def _moment(name: str, given: object, redactor: Redactor) -> datetime.datetime:
    return time_from_json(name, given)


def _count(name: str, given: object, redactor: Redactor) -> int:
    return checked_index(name, given)


def _latency(name: str, given: object, redactor: Redactor) -> float:
    return _number(name, given)


def _cost(name: str, given: object, redactor: Redactor) -> int:
    cost = checked_index(name, given)
    if cost > CHARGE_NUMBER:
        raise RecordError(f"{name} is {cost}, and at most {CHARGE_NUMBER}")
    return cost


def _losses(name: str, given: object, redactor: Redactor) -> dict[str, int]:
    if not isinstance(given, dict):
        raise RecordError(f"{name} must be an object of reasons and counts, not {type(given).__name__}")
    return {reason: checked_index(f"{name}.{reason[:40]}", count) for reason, count in given.items()}


def _adjustments(name: str, given: object, redactor: Redactor) -> tuple[Adjustment, ...]:
    steps = [_object(name, each, {"rule", "before", "after", "why"}) for each in _list(name, given)]
    return tuple(
        Adjustment(
            rule=_string(f"{name}.rule", step.get("rule", "")),
            before=redactor.value(_plain(step.get("before")), name),
            after=redactor.value(_plain(step.get("after")), name),
            why=_label(f"{name}.why", step.get("why", ""), redactor),
        )
        for step in steps
    )


def _attempts(name: str, given: object, redactor: Redactor) -> tuple[Attempt, ...]:
    known = {"status", "latencyMs", "response", "reasoning", "error"}
    return tuple(_attempt(name, _object(name, each, known), redactor) for each in _list(name, given))


def _attempt(name: str, given: Item, redactor: Redactor) -> Attempt:
    def read(field: str, how: Callable[[str, object, Redactor], Any]) -> Any:
        return how(f"{name}.{field}", given[field], redactor) if given.get(field) is not None else None

    return Attempt(
        status=_string(f"{name}.status", given.get("status", "ok")),
        latency_ms=read("latencyMs", _latency),
        response=read("response", _faithful),
        reasoning=read("reasoning", _faithful),
        error=read("error", _label),
    )


def _run(name: str, given: object, redactor: Redactor) -> RunKey:
    if not isinstance(given, dict) or given.keys() != {"agentId", "runId"}:
        raise RecordError(f"{name} must name a run: {{agentId, runId}}")
    return RunKey(given["agentId"], given["runId"])


def _plain(value: object) -> object:
    """A JSON value in the forms of a record: giant integers and half surrogates in theirs."""
    return unpack(pack(value))


_READ: Final[dict[str, tuple[str, Callable[[str, object, Redactor], Any]]]] = {
    "capturedAt": ("captured_at", _moment),
    "agentVersionId": ("agent_version_id", _label),
    "knowledge": ("knowledge", _frozen),
    "response": ("response", _faithful),
    "reasoning": ("reasoning", _faithful),
    "decision": ("decision", _messages),
    "unsent": ("unsent", _messages),
    "action": ("action", _label),
    "amount": ("amount", _amount),
    "adjustments": ("adjustments", _adjustments),
    "attempts": ("attempts", _attempts),
    "model": ("model", _label),
    "provider": ("provider", _label),
    "routing": ("routing", _label),
    "usage": ("usage", _frozen),
    "costMicros": ("cost_micros", _cost),
    "latencyMs": ("latency_ms", _latency),
    "error": ("error", _label),
    "clientId": ("client_id", _label),
    "sequence": ("sequence", _count),
    "losses": ("losses", _losses),
    "run": ("run", _run),
}
_FIELDS: Final = {"tableId", "handNumber", "agentId", "actionIndex", *PROMPT_FIELDS, *_READ}
