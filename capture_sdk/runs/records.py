"""What a run consists of: events in order, and the artifacts that they refer to; with their one codec.

A **run** is one go of an agent at a task. All in it is an **event**: one small map with an id made by the client.
What is large, or is the payload of a request or an answer, is an **artifact**: bytes stored once under their sha256.
In an event's body an artifact stands as ``{"$artifact": sha256, "bytes": n, "mediaType": type}``.

An encoded event is framed as a turn's record is: a version byte and a zstd frame, with checksum, of a msgpack map.
"""

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from capture_sdk.codec import fields_of, frame, unframe
from capture_sdk.errors import RecordError
from capture_sdk.freeze import pack, repack, unpack
from capture_sdk.keys import checked_id
from capture_sdk.records import RunKey

__all__ = [
    "ARTIFACT",
    "Artifact",
    "Body",
    "EventKind",
    "Place",
    "RunEvent",
    "RunKey",
    "SideEffect",
    "Status",
    "artifact_ref",
    "artifact_refs",
    "body",
    "decode_event",
    "encode_event",
]

ARTIFACT: Final = "$artifact"
Body = Mapping[str, Any]


class EventKind(StrEnum):
    """What an event tells. A reader keeps, and shows, kinds that it does not know."""

    RUN_STARTED = "run.started"
    RUN_RESUMED = "run.resumed"
    RUN_LEFT = "run.left"
    RUN_FINISHED = "run.finished"
    EVENT = "event"
    CHECKPOINT = "checkpoint"
    MODEL_CALL_STARTED = "model_call.started"
    MODEL_CALL_FINISHED = "model_call.finished"
    TOOL_PROPOSED = "tool.proposed"
    TOOL_DENIED = "tool.denied"
    TOOL_STARTED = "tool.started"
    TOOL_FINISHED = "tool.finished"
    CONTEXT_ANNOTATED = "context.annotated"


class Status(StrEnum):
    """How a run, a model call or a tool execution ended. ``incomplete``: a stream that was left before its end."""

    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    INCOMPLETE = "incomplete"


class SideEffect(StrEnum):
    """What a tool does to the world, as its caller says; never guessed."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    EXTERNAL = "external"
    IRREVERSIBLE = "irreversible"


class Place(StrEnum):
    """The four places of a good checkpoint strategy."""

    INPUT_LOADED = "input.loaded"
    BEFORE_TOOL = "before-tool"
    AFTER_TOOL = "after-tool"
    BEFORE_FINAL = "before-final"


@dataclass(frozen=True, slots=True)
class Artifact:
    """Bytes that events refer to: ``sha256`` in hex of ``data``, which is what redaction left of them."""

    sha256: str
    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event. ``body`` is a packed map; the fields of each kind are listed in ``docs/runs.md``.

    ``event_id`` is the client's: the same id again is the same event, and the first to arrive stays. ``parent_id`` is
    the id of the event that opened what this one happened in (a model call, a tool execution, an outer run's scope).
    Order of emission is ``sequence``, from 0, within one ``writer``; clocks decide nothing. ``losses`` are the writer's
    so far, by reason.
    """

    run: RunKey
    event_id: str
    kind: str
    at: datetime.datetime
    body: bytes
    writer: str
    sequence: int
    parent_id: str | None = None
    redactions: Mapping[str, int] = field(default_factory=dict)
    policy: str | None = None
    losses: Mapping[str, int] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Any]:
        """The body, thawed."""
        found = unpack(self.body)
        return found if isinstance(found, dict) else {"value": found}


def artifact_ref(artifact: Artifact) -> dict[str, object]:
    """How an artifact stands in a body."""
    return {ARTIFACT: artifact.sha256, "bytes": len(artifact.data), "mediaType": artifact.media_type}


def artifact_refs(value: object) -> Iterator[dict[str, Any]]:
    """Every reference to an artifact within a body, in its order."""
    if isinstance(value, dict):
        if isinstance(value.get(ARTIFACT), str):
            yield value
        else:
            for each in value.values():
                yield from artifact_refs(each)
    elif isinstance(value, list):
        for each in value:
            yield from artifact_refs(each)


def encode_event(event: RunEvent) -> bytes:
    """Write an event for a store."""
    return frame(repack(_to_map(event)))


def decode_event(data: bytes) -> RunEvent:
    """Read what ``encode_event`` wrote. Raises RecordError for anything else."""
    fields = fields_of(unframe(data))
    try:
        return _from_map(fields)
    except (ValueError, KeyError, TypeError, OverflowError) as exc:
        raise RecordError(f"the event is damaged: {type(exc).__name__}") from exc


def body(**fields: object) -> bytes:
    """Pack a body of plain values."""
    return pack(fields)


def _to_map(event: RunEvent) -> dict[str, object]:
    return {
        "agentId": event.run.agent_id,
        "runId": event.run.run_id,
        "eventId": event.event_id,
        "kind": event.kind,
        "at": event.at.isoformat(),
        "body": event.body,
        "writer": event.writer,
        "sequence": event.sequence,
        "parentId": event.parent_id,
        "redactions": dict(event.redactions),
        "policy": event.policy,
        "losses": dict(event.losses),
    }


def _packed(value: object) -> bytes:
    """A number here would ask for as many bytes."""
    if not isinstance(value, bytes):
        raise TypeError("the body is not packed")
    return value


@lru_cache(maxsize=64)  # the events of a run are read one after the other
def _run_key(agent_id: str, run_id: str) -> RunKey:
    return RunKey(agent_id, run_id)


def _from_map(fields: dict[str, Any]) -> RunEvent:
    return RunEvent(
        run=_run_key(fields["agentId"], fields["runId"]),
        event_id=checked_id("Event id", fields["eventId"]),
        kind=str(fields["kind"]),
        at=datetime.datetime.fromisoformat(fields["at"]),
        body=_packed(fields["body"]),
        writer=str(fields["writer"]),
        sequence=int(fields["sequence"]),
        parent_id=fields.get("parentId"),
        redactions=fields.get("redactions") or {},
        policy=fields.get("policy"),
        losses=fields.get("losses") or {},
    )
