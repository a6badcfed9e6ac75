"""From a draft to its event and artifacts, on the delivery thread: settled, redacted, what is large put apart."""

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from capture_sdk.freeze import jsonable, repack, settle, unpack
from capture_sdk.prompt import text_bytes
from capture_sdk.redact.policy import CapturePolicy
from capture_sdk.redact.redactor import Redactor
from capture_sdk.runs.drafts import Draft, Streamed
from capture_sdk.runs.payloads import (
    BYTES,
    LINES,
    PACKED,
    artifact_of,
    escaped,
    is_mark,
    json_bytes,
    parsed,
    plain,
)
from capture_sdk.runs.pieces import redact_chunks, redacted_bytes
from capture_sdk.runs.records import ARTIFACT, Artifact, EventKind, RunEvent, artifact_ref

INLINE_BYTES: Final = (
    4_096  # packed; a larger value is an artifact: a timeline of thousands of events stays light
)
_LONGEST_LABEL: Final = 1_000  # characters
_LONGEST_MESSAGE: Final = 8_192  # of an error
_OURS: Final = frozenset(
    "status call proposal execution isPart isWhole place sideEffect hand outer stream".split()
)
_LABELS: Final = frozenset(
    "name project service provider model operation callId reason by kind path visibility".split()
)
_CALLS: Final = frozenset({EventKind.MODEL_CALL_STARTED, EventKind.MODEL_CALL_FINISHED})
_PAYLOADS: Final = frozenset({"request", "output"})


@dataclass(slots=True)
class Sealed:
    """An event and what it refers to."""

    event: RunEvent
    artifacts: dict[str, Artifact] = field(default_factory=dict)


def seal(draft: Draft, policy: CapturePolicy, *, losses: Mapping[str, int], limit: int) -> Sealed:
    """Build the event of a draft; an artifact of more than ``limit`` bytes leaves only its size."""
    redactor = Redactor(policy, draft.writer.secrets)
    given = _given(draft)
    output = None if draft.streamed is None else _joined(draft.streamed, redactor)
    if output is not None:
        given["output"], media_type = output
    kept = _redacted(given, redactor)
    body: dict[str, object] = {}
    artifacts: dict[str, Artifact] = {}
    for name, value in kept.items():
        is_payload = draft.kind in _CALLS and name in _PAYLOADS
        streamed_as = media_type if output is not None and name == "output" else None
        body[name] = _placed(
            name, value, artifacts, is_payload=is_payload, media_type=streamed_as, limit=limit
        )
    if redactor.artifacts:
        body["apart"] = [_apart(sha256, raw, artifacts) for sha256, raw in redactor.artifacts.items()]
    if redactor.known:
        draft.writer.learn(redactor.known)
    event = RunEvent(
        run=draft.key,
        event_id=draft.event_id,
        kind=str(draft.kind),
        at=datetime.datetime.fromtimestamp(draft.at, datetime.UTC),
        body=repack(body),
        writer=draft.writer_id,
        sequence=draft.sequence,
        parent_id=draft.parent_id,
        redactions={str(action): count for action, count in redactor.counts.items()},
        policy=policy.version,
        losses=losses,
    )
    return Sealed(event, artifacts)


def _given(draft: Draft) -> dict[str, Any]:
    """What was recorded, thawed; a map that only looks like a reference to an artifact is none."""
    packed = settle(draft.fields, draft.unsettled)
    thawed = unpack(packed)
    given = thawed if isinstance(thawed, dict) else {"value": thawed}
    if ARTIFACT.encode() in packed:
        given = {name: escaped(value) for name, value in given.items()}
    if draft.fault is not None:
        given["error"] = draft.fault.fields()
    if draft.streamed is not None:
        stream = {
            "chunks": len(draft.streamed.times),
            "times": list(draft.streamed.times),
            "isComplete": draft.streamed.is_complete and not draft.streamed.is_cut,
        }
        if draft.streamed.is_cut:
            stream["isCut"] = True  # it was longer than what is kept
        given["stream"] = stream
    return given


def _redacted(given: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Every field; and all of them again where a secret was learnt that may stand in an earlier one."""
    while True:
        before = redactor.known
        given = {
            name: value if name in _OURS else _field(name, value, redactor) for name, value in given.items()
        }
        if redactor.known == before:
            return {name: _shortened(name, value) for name, value in given.items()}


def _field(name: str, value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str | bytes) and redactor.policy.rules and name not in _LABELS:
        inner = parsed(value)
        if inner is not None:
            kept = redactor.value(inner, name)
            if kept is not inner and kept != inner:
                value = json_bytes(kept)
    return redactor.value(plain(value), name)


def _shortened(name: str, value: Any) -> Any:
    if name in _LABELS:
        return _label(value)
    if name == "error" and isinstance(value, dict) and isinstance(value.get("message"), str):
        return value | {"message": _cut(value["message"], _LONGEST_MESSAGE)}
    return value


def _label(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value if value is None else _cut(value, _LONGEST_LABEL)
    return _cut(json.dumps(jsonable(value)), _LONGEST_LABEL)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}[CUT:{len(text)}]"


def _placed(
    name: str,
    value: Any,
    artifacts: dict[str, Artifact],
    *,
    is_payload: bool,
    media_type: str | None,
    limit: int,
) -> object:
    """What stands in the body: the value itself, or a reference to it."""
    if name == "stream" and isinstance(value, dict):  # only its times may be many
        times = _placed("times", value["times"], artifacts, is_payload=False, media_type=None, limit=limit)
        return value | {"times": times}
    if name in _OURS:
        return value
    if isinstance(value, dict) and isinstance(value.get(ARTIFACT), dict):
        about = value[ARTIFACT]
        return {ARTIFACT: about["sha256"], "bytes": about["bytes"], "mediaType": _media_type(about["type"])}
    if value is None or is_mark(value) or (not is_payload and _size(value) <= INLINE_BYTES):
        return value
    artifact = artifact_of(value, media_type)
    if len(artifact.data) > limit:
        return {"$cut": f"size: {len(artifact.data)} bytes"}
    artifacts[artifact.sha256] = artifact
    return artifact_ref(artifact)


def _size(value: object) -> int:
    return len(value) if isinstance(value, str | bytes) else len(repack(value))


def _apart(sha256: str, raw: bytes, artifacts: dict[str, Artifact]) -> dict[str, object]:
    """What a rule put apart: kept as it was, and no part of any other artifact."""
    artifacts[sha256] = Artifact(sha256, raw, BYTES)
    return artifact_ref(artifacts[sha256])


def _media_type(kind: str) -> str:
    return BYTES if kind in ("str", "bytes") else PACKED


def _joined(streamed: Streamed, redactor: Redactor) -> tuple[object, str | None]:
    """A stream's chunks as one output: bytes and texts joined, objects as JSON, one a line."""
    try:
        chunks = [plain(unpack(settle(*chunk))) for chunk in streamed.chunks]
        if all(isinstance(chunk, str | bytes) for chunk in chunks):
            joiner = text_bytes(streamed.joiner)
            data = joiner.join(text_bytes(chunk) for chunk in chunks if isinstance(chunk, str | bytes))
            is_text = all(isinstance(chunk, str) for chunk in chunks)
            data = redacted_bytes(data, redactor)
            return (data.decode("utf-8", "surrogatepass") if is_text else data), None
        redact_chunks(chunks, redactor)
        return b"".join(json_bytes(chunk) + b"\n" for chunk in chunks), LINES
    except Exception as exc:  # noqa: BLE001 - fails closed: what could not be searched does not leave
        redactor.counts["withheld"] += 1
        return {"$withheld": f"redaction failed: {type(exc).__name__}"}, None
