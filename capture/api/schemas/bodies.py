"""The bodies of batches. An item that is none of these costs itself alone: its own result says why."""

from typing import Final

from capture.api.parameters import ID_SCHEMA, INDEX_SCHEMA, MOMENT_SCHEMA, RUN_KEY_SCHEMA
from capture.api.schemas.words import (
    BASE64,
    BOOLEAN,
    SHA256,
    STRING,
    Schema,
    anything,
    closed,
    listed,
    or_null,
    ref,
)
from capture.limits import BATCH_ITEMS, CHARGE_NUMBER
from capture_sdk.wire import LATENCY_MS_MAX

_FLAG: Final = or_null(BOOLEAN, "False unless given.")

_RECORDED_TURN: Final = closed(
    "A turn as the SDK writes it.",
    optional=("envHash", "envelope"),
    record=BASE64 | {"description": "What the SDK's codec writes, standing alone."},
    envHash=or_null(SHA256, "The record says it too, and is what counts."),
    envelope=or_null(BASE64, "May be left out where the buffer has it: else the answer is envelope_needed."),
)
# The forms that an item of ``turns`` may have.
_KEY: Final[dict[str, Schema]] = {
    "tableId": ID_SCHEMA,
    "handNumber": INDEX_SCHEMA,
    "agentId": ID_SCHEMA,
    "actionIndex": INDEX_SCHEMA,
}
_TEXT: Final[Schema] = {
    "anyOf": [STRING, closed("Bytes that are no text.", **{"$bytes": BASE64}), {"type": "null"}]
}
_NUMBER: Final[Schema] = {"type": "integer", "minimum": 0, "maximum": CHARGE_NUMBER}
_LATENCY: Final[Schema] = {"type": "integer", "minimum": 0, "maximum": LATENCY_MS_MAX}
_MESSAGES: Final = or_null(listed(anything("A message.")))
_PLAIN: Final[dict[str, Schema]] = {
    "prompt": anything("The whole: text, bytes, or a list of messages. Instead: envelope, or envHash."),
    "envelope": _TEXT,
    "envHash": or_null(SHA256, "Of an envelope that was sent before. Needs promptSha256."),
    "remainder": _TEXT,
    "joiner": _TEXT | {"description": "A line feed unless given."},
    "promptSha256": or_null(SHA256, "Of the whole prompt as the model got it."),
    "capturedAt": or_null(MOMENT_SCHEMA, "The time of arrival unless given."),
    "agentVersionId": or_null(STRING),
    "knowledge": anything("Any JSON. Null: not captured."),
    "response": _TEXT,
    "reasoning": _TEXT,
    "decision": _MESSAGES
    | {"description": "The messages that left. Empty: nothing did; null: not captured."},
    "unsent": _MESSAGES,
    "action": or_null(STRING),
    "amount": {"type": ["number", "string", "null"]},
    "adjustments": or_null(listed({"type": "object"}), "Of rule, before, after, why."),
    "attempts": or_null(listed({"type": "object"}), "Of status, latencyMs, response, reasoning, error."),
    "model": or_null(STRING),
    "provider": or_null(STRING),
    "routing": or_null(STRING),
    "usage": anything("The provider's own usage object."),
    "costMicros": or_null(_NUMBER),
    "latencyMs": {"type": ["number", "null"]},
    "error": or_null(STRING),
    "clientId": or_null(STRING),
    "sequence": or_null(INDEX_SCHEMA),
    "losses": or_null({"type": "object", "additionalProperties": INDEX_SCHEMA}),
    "run": or_null(RUN_KEY_SCHEMA, "The run that the turn was taken in."),
}
_PLAIN_TURN: Final = closed(
    "A turn as plain JSON, for agents in any language. What is null or left out was not captured.",
    optional=_PLAIN,
    **_KEY,
    **_PLAIN,
)
# The forms that an item of ``turns`` may have.
TURN_ITEMS: Final[dict[str, Schema]] = {"RecordedTurn": _RECORDED_TURN, "PlainTurn": _PLAIN_TURN}

_TOKENS: Final = ("inputTokens", "cachedTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens")
_KNOWN: Final[dict[str, Schema]] = {
    "agentVersionId": or_null(STRING),
    "model": or_null(STRING),
    "provider": or_null(STRING),
    **dict.fromkeys(_TOKENS, or_null(_NUMBER)),
    "costMicros": or_null(_NUMBER, "Millionths of the currency."),
    "latencyMs": or_null(
        _LATENCY, "Whole milliseconds that the model was waited for, all attempts together."
    ),
    "attempts": or_null(INDEX_SCHEMA, "Calls to the model; 1 unless given."),
    "isFallback": _FLAG,
    "fallbackReason": or_null(STRING),
    "isClamped": _FLAG,
    "isRedacted": _FLAG,
    "action": or_null(STRING),
    "amount": {"type": ["number", "string", "null"]},
    "usage": anything("The provider's own usage object, as it was received."),
}


def _batch(name: str, item: str) -> Schema:
    return {
        "type": "object",
        "properties": {name: listed(ref(item), most=BATCH_ITEMS)},
        "required": [name],
    }


BATCHES: Final[dict[str, Schema]] = {
    **TURN_ITEMS,
    "TurnItem": {"description": "One turn.", "anyOf": [ref(name) for name in TURN_ITEMS]},
    "Charge": closed(
        "One row for the ledger. The first one written stays; null is the same as left out: not known.",
        optional=_KNOWN,
        **_KEY,
        chargedAt=MOMENT_SCHEMA,
        **_KNOWN,
    ),
    "TurnsBatch": _batch("turns", "TurnItem"),
    "ChargesBatch": _batch("charges", "Charge"),
}
