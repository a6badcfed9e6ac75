"""Builders: events of runs and their artifacts, as an agent's client makes them, and their way into the buffer."""

import datetime
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from capture.buffer import Buffer
from capture_sdk.codec import frame
from capture_sdk.keys import artifact_key
from capture_sdk.runs.records import (
    Artifact,
    EventKind,
    RunEvent,
    RunKey,
    artifact_ref,
    artifact_refs,
    body,
    encode_event,
)
from capture_sdk.transports import Blob, EventParcel

AGENT, RUN = "claims-agent", "run-1"
KEY = RunKey(AGENT, RUN)
AT = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)


def event(sequence: int, kind: str = EventKind.EVENT, *, key: RunKey = KEY, **fields: Any) -> RunEvent:
    """One event; ``event_id``, ``writer``, ``losses`` and ``parent_id`` may be given among the body's fields."""
    writer = fields.pop("writer", "w")
    event_id = fields.pop("event_id", f"{writer}-{sequence}")
    parent_id, losses = fields.pop("parent_id", None), fields.pop("losses", {})
    return RunEvent(
        run=key,
        event_id=event_id,
        kind=kind,
        at=AT + datetime.timedelta(seconds=sequence),
        body=body(**fields),
        writer=writer,
        sequence=sequence,
        parent_id=parent_id,
        losses=losses,
    )


def artifact(text: str | bytes, media_type: str = "text/plain") -> Artifact:
    data = text.encode() if isinstance(text, str) else text
    return Artifact(hashlib.sha256(data).hexdigest(), data, media_type)


def parcel(event: RunEvent, artifacts: Iterable[Artifact] = (), *, known: bool = False) -> EventParcel:
    """The event as a transport takes it; ``known`` leaves the artifacts' bytes out."""
    given = {each.sha256: each.data for each in artifacts}
    blobs = tuple(
        Blob(artifact_key(sha), sha, None if known or sha not in given else frame(given[sha]))
        for sha in dict.fromkeys(ref["$artifact"] for ref in artifact_refs(event.fields))
        if len(sha) == 64
    )
    return EventParcel(event.run, event.event_id, event.kind, encode_event(event), blobs)


def buffered(events: Sequence[RunEvent], artifacts: Iterable[Artifact] = ()) -> None:
    """Write events to the server's own buffer."""
    held = list(artifacts)
    assert Buffer.writer().write_events([parcel(each, held) for each in events]) == []


def a_run(
    key: RunKey = KEY, *, status: str | None = "ok", **start: Any
) -> tuple[list[RunEvent], list[Artifact]]:
    """A small run: start, a model call with its request and answer, a tool proposed and executed, the end."""
    request, answer = artifact('{"messages": []}', "application/json"), artifact("pay the claim")
    events = [
        event(0, EventKind.RUN_STARTED, key=key, **({"name": "settle", "metadata": {"claim": 7}} | start)),
        event(
            1,
            EventKind.MODEL_CALL_STARTED,
            key=key,
            provider="openai",
            model="m",
            request=artifact_ref(request),
        ),
        event(
            2, EventKind.MODEL_CALL_FINISHED, key=key, call="w-1", status="ok", output=artifact_ref(answer)
        ),
        event(3, EventKind.TOOL_PROPOSED, key=key, name="pay", call="w-1"),
        event(4, EventKind.TOOL_STARTED, key=key, name="pay", proposal="w-3", sideEffect="irreversible"),
        event(5, EventKind.TOOL_FINISHED, key=key, execution="w-4", status="ok", output={"paid": True}),
    ]
    if status is not None:
        events.append(event(6, EventKind.RUN_FINISHED, key=key, status=status))
    return events, [request, answer]
