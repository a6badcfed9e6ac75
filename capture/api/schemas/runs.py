"""The answers about runs, and the batch of their events. Shapes are those that ``capture.api.run_shapes`` builds."""

from typing import Final

from capture.api.parameters import ID_SCHEMA, INDEX_SCHEMA, MOMENT_SCHEMA
from capture.api.schemas.words import (
    BASE64,
    BOOLEAN,
    COUNT,
    SHA256,
    STRING,
    TIME,
    Schema,
    closed,
    listed,
    one_of,
    or_null,
    ref,
)
from capture.limits import BATCH_ITEMS, RUN_EVENTS_PAGE, RUN_PAGE
from capture.pins.pin import PinStatus
from capture.runs.branching import Verdict
from capture.runs.quality import LineState
from capture.runs.run import RunState, RunStatus
from capture_sdk.runs.records import Place

_COUNTS: Final[Schema] = {"type": "object", "additionalProperties": COUNT}
_KEY: Final[dict[str, Schema]] = {"agentId": ID_SCHEMA, "runId": ID_SCHEMA}
_EVENTS: Final = listed(ID_SCHEMA, "The first of them.")

_HEAD: Final[dict[str, Schema]] = {
    **_KEY,
    "name": or_null(STRING, "What its first start calls it; null where there is none, or it has expired."),
    "project": or_null(STRING),
    "service": or_null(STRING),
    "status": one_of(RunStatus, "How it ended. unknown: nothing but its name is left."),
    "state": one_of(RunState, "Where its events are."),
    "beganAt": or_null(TIME, "When its first event arrived."),
    "lastAt": or_null(TIME, "When its last event arrived."),
    "lastedMs": or_null(COUNT, "From its start to its end, by the clock of the writer of both."),
    "expiresAt": or_null(TIME, "When the buffer lets go of it; null where it is not there."),
    "hand": or_null(ref("RunHand"), "The hand that it names."),
    "counts": _COUNTS
    | {"description": "Events by kind, of those that are there. In a list, kinds of others: other."},
}

RUN_ANSWERS: Final[dict[str, Schema]] = {
    "Runs": closed(
        "One page of runs, the last active first. A page may be short, or empty, before the last one.",
        runs=listed(ref("RunHead"), most=RUN_PAGE),
        nextCursor=or_null(STRING, "Leads on; null at the end."),
        agentsLeftOut=COUNT
        | {"description": "Agents, not active lately, whose runs in the buffer were not looked through."},
        sources=ref("Sources"),
    ),
    "RunHead": closed("A run as a list shows it.", **_HEAD),
    "RunHand": closed("A hand.", tableId=ID_SCHEMA, handNumber=INDEX_SCHEMA),
    "Run": closed(
        "One run, with some of its events.",
        **_HEAD,
        events=listed(ref("RunEvent"), "In the order of emission.", most=RUN_EVENTS_PAGE),
        nextAfter=or_null(ID_SCHEMA, "Leads on: send it as after; null at the end."),
        total=COUNT | {"description": "Events that can be read."},
        kept=COUNT | {"description": "Of those that are stored, the durable ones."},
        gaps=listed(ref("RunGap"), "Events that writers numbered and that are not there."),
        damaged=listed(STRING, "The ids of events that are stored and cannot be read."),
        losses=_COUNTS | {"description": "What the writers say they lost, by reason."},
        wentOnAt=or_null(TIME, "When it was active last, where that is after all that is there."),
        sources=ref("Sources"),
    ),
    "RunGap": closed(
        "Numbers of one writer, of which no event is there.",
        writer=STRING,
        first=COUNT,
        last=COUNT,
        isLost=BOOLEAN | {"description": "Whether the writer's own losses cover them."},
    ),
    "RunEvent": closed(
        "One event. An artifact stands in the body as {$artifact, bytes, mediaType}.",
        eventId=ID_SCHEMA,
        kind=STRING | {"description": "Kinds that this version does not know are given as well."},
        at=TIME,
        writer=STRING,
        sequence=COUNT,
        parentId=or_null(ID_SCHEMA, "The event that opened what this one happened in."),
        redactions=_COUNTS,
        policy=or_null(STRING),
        losses=_COUNTS,
        body={"type": "object", "description": "By kind."},
    ),
    "KeptRun": closed(
        "What keeping a run did.",
        status=one_of(PinStatus),
        inserted=COUNT | {"description": "Events kept now."},
        total=COUNT | {"description": "Events kept afterwards."},
        missing=COUNT | {"description": "Events and artifacts known to belong to it that are not durable."},
    ),
    "RunQuality": closed(
        "What a run's evidence is good for.",
        **_KEY,
        met=COUNT,
        notMet=COUNT,
        lines=listed(ref("QualityLine")),
        branchPoints=listed(ref("BranchPoint"), "Every checkpoint."),
        places=listed(ref("CheckpointPlace"), "The four places of a good checkpoint strategy."),
        warnings=listed(ref("BranchReason")),
        isCut=BOOLEAN | {"description": "Whether requests were too large, or too many, to look through all."},
        sources=ref("Sources"),
    ),
    "QualityLine": closed(
        "One line of the checklist.",
        code=STRING,
        title=STRING,
        state=one_of(LineState),
        reason=STRING,
        lacks=listed(ref("QualityLack"), "The first of what is missing."),
        count=COUNT | {"description": "All of what is missing."},
        asked=COUNT | {"description": "Of how many things it was asked."},
    ),
    "QualityLack": closed(
        "What is missing.", eventId=or_null(ID_SCHEMA, "Of which event; null: of the run."), what=STRING
    ),
    "BranchPoint": closed(
        "Whether a replay can branch off at a checkpoint.",
        eventId=ID_SCHEMA,
        name=or_null(STRING),
        place=or_null(STRING),
        verdict=one_of(Verdict),
        reasons=listed(ref("BranchReason")),
    ),
    "BranchReason": closed("Why.", verdict=one_of(Verdict), text=STRING, events=_EVENTS, count=COUNT),
    "CheckpointPlace": closed(
        "A place, and the run's checkpoints there.",
        place=one_of(Place),
        letsTest=STRING | {"description": "What a checkpoint there lets one test."},
        events=_EVENTS,
        count=COUNT,
    ),
}

_RECORDED_EVENT: Final = closed(
    "An event as the SDK writes it.",
    optional=("artifacts",),
    event=BASE64 | {"description": "What the SDK's encode_event writes."},
    artifacts=or_null(listed(ref("EventArtifact")), "Those that it refers to."),
)
_OPTIONAL: Final[dict[str, Schema]] = {
    "body": {"type": ["object", "null"], "description": "By kind; bytes as {$bytes: base64}, at any depth."},
    "at": or_null(MOMENT_SCHEMA, "The time of arrival unless given."),
    "writer": or_null(ID_SCHEMA, "Who numbered it. Needs sequence."),
    "sequence": or_null(INDEX_SCHEMA, "Its number, from 0, within its run and writer. Needs writer."),
    "parentId": or_null(ID_SCHEMA, "The event that opened what this one happened in."),
    "losses": or_null({"type": "object", "additionalProperties": INDEX_SCHEMA}),
}
_PLAIN_EVENT: Final = closed(
    "An event as plain JSON, for agents in any language. Requests, answers and what is large become artifacts.",
    optional=_OPTIONAL,
    **_KEY,
    eventId=ID_SCHEMA,
    kind=ID_SCHEMA,
    **_OPTIONAL,
)
EVENT_ITEMS: Final[dict[str, Schema]] = {"RecordedEvent": _RECORDED_EVENT, "PlainEvent": _PLAIN_EVENT}
RUN_BATCHES: Final[dict[str, Schema]] = {
    **EVENT_ITEMS,
    "EventArtifact": closed(
        "An artifact.",
        optional=("data",),
        sha256=SHA256,
        data=or_null(
            BASE64,
            "A version byte and a zstd frame. May be left out where the run has it: else artifact_needed.",
        ),
    ),
    "EventItem": {"description": "One event.", "anyOf": [ref(name) for name in EVENT_ITEMS]},
    "EventsBatch": {
        "type": "object",
        "properties": {"events": listed(ref("EventItem"), most=BATCH_ITEMS)},
        "required": ["events"],
    },
}
