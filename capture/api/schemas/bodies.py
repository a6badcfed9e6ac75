"""The bodies of batches. An item that is none of these costs itself alone: its own result says why."""

from typing import Final

from capture.api.parameters import ID_SCHEMA, INDEX_SCHEMA, MOMENT_SCHEMA
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
from capture.limits import BATCH_ITEMS

_FLAG: Final = or_null(BOOLEAN, "False unless given.")

_RECORDED_TURN: Final = closed(
    "A turn as the SDK writes it.",
    optional=("envHash", "envelope"),
    record=BASE64 | {"description": "What the SDK's codec writes, standing alone."},
    envHash=or_null(SHA256, "The record says it too, and is what counts."),
    envelope=or_null(BASE64, "May be left out where the buffer has it: else the answer is envelope_needed."),
)
# The forms that an item of ``turns`` may have.
TURN_ITEMS: Final[dict[str, Schema]] = {"RecordedTurn": _RECORDED_TURN}

_KEY: Final[dict[str, Schema]] = {
    "tableId": ID_SCHEMA,
    "handNumber": INDEX_SCHEMA,
    "agentId": ID_SCHEMA,
    "actionIndex": INDEX_SCHEMA,
}
_TOKENS: Final = ("inputTokens", "cachedTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens")
_KNOWN: Final[dict[str, Schema]] = {
    "agentVersionId": or_null(STRING),
    "model": or_null(STRING),
    "provider": or_null(STRING),
    **dict.fromkeys(_TOKENS, or_null(INDEX_SCHEMA)),
    "costMicros": or_null(INDEX_SCHEMA, "Millionths of the currency."),
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
