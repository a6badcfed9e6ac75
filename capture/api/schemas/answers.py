"""The answers. Their enumerations are those of the code, their shapes those that ``capture.api.shapes`` builds."""

from typing import Final

from capture.absence import Why
from capture.api.parameters import ID_SCHEMA, INDEX_SCHEMA, RUN_KEY_SCHEMA
from capture.api.schemas.words import (
    BOOLEAN,
    COUNT,
    INTEGER,
    SHA256,
    STRING,
    TIME,
    Schema,
    anything,
    closed,
    listed,
    one_of,
    or_null,
    ref,
)
from capture.api.shapes import OK, UNAVAILABLE
from capture.limits import BATCH_ITEMS, RECENT_HANDS
from capture.merge import HandState, Source
from capture.pins.pin import PinStatus
from capture_sdk.prompt import PromptStatus
from capture_sdk.wire import ARTIFACT_NEEDED, ENVELOPE_NEEDED, REFUSED, WRITTEN

_FAILED: Final = "failed"
_TEXT_OR_NULL: Final = or_null(ref("Text"))
_STORE: Final = one_of((OK, UNAVAILABLE))

_STANDING: Final[dict[str, Schema]] = {
    "state": or_null(one_of(HandState), "What the hand is, as a whole. Null: nothing is known of it."),
    "live": COUNT | {"description": "Turns that the buffer still has."},
    "pinned": COUNT | {"description": "Turns that are kept."},
    "expiresInMs": or_null(COUNT, "What the buffer's longest-lived turn has left; null where it has none."),
}

_TURN: Final = closed(
    "One captured turn. Null means not captured, an empty value captured and empty. Of a record that cannot be read "
    "every field from capturedAt on is null.",
    agentId=ID_SCHEMA,
    actionIndex=INDEX_SCHEMA,
    agentVersionId=or_null(STRING),
    promptStatus=one_of(PromptStatus, "The prompt as it hashes at this very read."),
    promptUnavailable=or_null(STRING, "Why there is no prompt, or why it is not what the model saw."),
    source=one_of(Source, "The store it was read from."),
    isPinned=BOOLEAN,
    isFallback={"const": False},
    isClamped=BOOLEAN | {"description": "Whether what left differs from what was parsed."},
    capturedAt=or_null(TIME),
    knowledge=anything("What the agent knew: an object as a rule. Null: not captured."),
    prompt=or_null(ref("Text"), "What the model was told."),
    promptSha256=or_null(SHA256, "The hash that was recorded."),
    envHash=or_null(SHA256, "The hash of the envelope; null for a prompt that is kept whole."),
    promptIsMessages=or_null(BOOLEAN, "Whether the prompt is a JSON list of chat messages."),
    response=_TEXT_OR_NULL,
    reasoning=_TEXT_OR_NULL,
    decision=or_null(listed(anything("A message.")), "The messages that left, credentials marked."),
    unsent=or_null(
        listed(anything("A message, and the name of what stopped it.")), "Messages whose send failed."
    ),
    action=or_null(ref("Plain"), "What was parsed."),
    amount=or_null(ref("Plain"), "What was parsed."),
    adjustments=or_null(listed(ref("Adjustment"))),
    attempts=or_null(listed(ref("Attempt"))),
    model=or_null(STRING),
    provider=or_null(STRING),
    routing=or_null(STRING),
    usage=anything("The provider's own usage object. Null: not captured."),
    costMicros=or_null(ref("Plain"), "Millionths of the currency, an integer as a rule. Null: not known."),
    latencyMs=or_null(ref("Plain"), "The wait, in milliseconds."),
    error=or_null(STRING),
    redactions=or_null({"type": "object", "additionalProperties": COUNT}, "What was changed, by action."),
    policy=or_null(STRING, "The rules by which it was."),
    rewritten=or_null(listed(STRING), "Byte-faithful fields that a policy changed."),
    cut=or_null(listed(STRING), "Fields that were too large to keep."),
    artifacts=or_null(
        {"type": "object", "propertyNames": SHA256, "additionalProperties": ref("Bytes")},
        "Values that a policy put apart, by sha256.",
    ),
    clientId=or_null(STRING),
    sequence=or_null(COUNT, "The turn's number within its client, agent and hand."),
    run=or_null(RUN_KEY_SCHEMA, "The run that the turn was taken in."),
)

_FALLBACK: Final = closed(
    "A row of the ledger: the agent took its safe action, because no usable answer came. Null: not known.",
    agentId=ID_SCHEMA,
    actionIndex=INDEX_SCHEMA,
    agentVersionId=or_null(STRING),
    model=or_null(STRING),
    provider=or_null(STRING),
    isFallback={"const": True},
    fallbackReason=or_null(STRING),
    attempts=COUNT,
    action=or_null(STRING),
    amount=or_null(ref("Plain")),
    tokens=ref("Tokens"),
    usage=anything("The provider's own usage object. Null: not captured."),
    costMicros=or_null(INTEGER),
    latencyMs=or_null(COUNT, "The wait for the model, all attempts together."),
    chargedAt=TIME,
)

ANSWERS: Final[dict[str, Schema]] = {
    "Hand": closed(
        "One hand, or one agent's part of it.",
        tableId=ID_SCHEMA,
        handNumber=INDEX_SCHEMA,
        turns=listed(ref("Turn"), "Captured turns, by action index, then agent."),
        fallbacks=listed(ref("Fallback"), "By action index, then agent."),
        sources=ref("Sources"),
        expected=or_null(ref("Expected"), "What the ledger says there should be; null: it did not answer."),
        missing=listed(ref("Missing"), "Real inferences of the ledger without a captured turn."),
        gaps=listed(ref("Gap"), "What the ledger does not list, and the clients' numbers show."),
        **_STANDING,
    ),
    "Turn": _TURN,
    "Adjustment": closed(
        "One correction between the parsed action and the sent one.",
        rule=anything("Its name: text as a rule."),
        before=anything("Any JSON."),
        after=anything("Any JSON."),
        why=STRING,
    ),
    "Attempt": closed(
        "One call to the model within a turn.",
        status=ref("Plain"),
        latencyMs=or_null(ref("Plain")),
        response=_TEXT_OR_NULL,
        reasoning=_TEXT_OR_NULL,
        error=or_null(STRING),
    ),
    "Fallback": _FALLBACK,
    "Tokens": closed(
        "Tokens, summed over the attempts. Null: not known.",
        **dict.fromkeys(("input", "cached", "cacheWrite", "output", "reasoning"), or_null(INTEGER)),
    ),
    "Sources": closed("Which stores answered.", buffer=_STORE, durable=_STORE),
    "Expected": closed("What the ledger counts.", turns=COUNT, fallbacks=COUNT),
    "Missing": closed(
        "A turn that the ledger knows and no store gave.",
        agentId=ID_SCHEMA,
        actionIndex=INDEX_SCHEMA,
        reason=one_of(Why, "Why."),
    ),
    "Gap": closed(
        "Turns that a client numbered, and of which neither a capture nor a charge is there.",
        agentId=ID_SCHEMA,
        afterActionIndex=or_null(INDEX_SCHEMA, "Null: from the hand's beginning."),
        beforeActionIndex=INDEX_SCHEMA,
        turns=COUNT,
        reason=one_of(Why, "Why."),
    ),
    "Pin": closed(
        "What a pin did.",
        status=one_of(PinStatus),
        inserted=COUNT | {"description": "Turns kept now."},
        total=COUNT | {"description": "Turns kept afterwards."},
        missing=COUNT | {"description": "Real inferences without a kept turn."},
    ),
    "RecentHands": closed(
        "One page of hands, newest first.",
        hands=listed(ref("HandSummary"), most=RECENT_HANDS),
        nextCursor=or_null(
            {"type": "string", "pattern": "^[0-9]+$"}, "Leads to older hands; null at the end."
        ),
        sources=ref("Sources"),
    ),
    "HandSummary": closed(
        "One hand of the ledger.",
        tableId=ID_SCHEMA,
        handNumber=INDEX_SCHEMA,
        handId=STRING | {"description": "Table id and hand number, with a colon between."},
        agents=listed(ID_SCHEMA),
        turns=COUNT,
        fallbacks=COUNT,
        clamped=COUNT,
        redacted=COUNT,
        costMicros=or_null(INTEGER, "Millionths of the currency; null where no charge states a cost."),
        firstAt=TIME,
        lastAt=TIME,
        **_STANDING,
    ),
    "Results": closed(
        "What became of a batch.",
        results=listed(ref("Result"), "One for each item, in order.", most=BATCH_ITEMS),
    ),
    "Result": {
        "description": "What became of one item.",
        "oneOf": [
            closed(
                "It is there, or its envelope or artifacts are asked for.",
                status=one_of((WRITTEN, ENVELOPE_NEEDED, ARTIFACT_NEEDED)),
            ),
            closed(
                "It is not there.",
                status=one_of((REFUSED, _FAILED), f"{_FAILED}: send it again."),
                reason=STRING | {"minLength": 1, "description": "One word, for programs."},
                message=STRING | {"description": "A sentence for people."},
            ),
        ],
    },
    "OpenApi": {
        "type": "object",
        "description": "This description itself.",
        "properties": {"openapi": {"type": "string", "pattern": r"^3\.1\.\d+$"}, "paths": {"type": "object"}},
        "required": ["openapi", "info", "servers", "paths", "components"],
    },
}
