"""Events of runs that come by HTTP, each with the artifacts that it refers to.

An artifact is taken by its hash alone where an event of the same run has it already, and nowhere else: a hash that
somebody learnt opens nobody else's bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capture.auth import Caller
from capture.buffer import Buffer, BufferUnavailable
from capture.hands import StoresUnavailable
from capture.ingest.outcomes import Outcome, Refused, counted, own, read_item, written
from capture.ingest.plain_events import event_from_json
from capture.limits import ENVELOPE_BYTES, FROZEN_VALUES, RECORD_VALUES, RUN_BODY_BYTES
from capture.runs.artifacts import hashes_in, opened_artifact
from capture.runs.hot import RunBuffer
from capture.runs.soundness import check_event
from capture.weight import check_light
from capture_sdk.codec import fields_of, frame, unframe
from capture_sdk.errors import RecordError, TransportError
from capture_sdk.keys import artifact_key
from capture_sdk.runs.records import RunEvent, decode_event, encode_event
from capture_sdk.transports import Blob, EventParcel
from capture_sdk.wire import ARTIFACT_NEEDED, unbase64


def take_events(items: Sequence[object], *, caller: Caller) -> list[Outcome]:
    """Write a batch of events to the buffer; an outcome for each, in order.

    Raises StoresUnavailable when the buffer does not answer: then the whole batch is to be sent again.
    """
    outcomes = [read_item(_parcel, item, caller) for item in items]
    try:
        for place in _unknown(outcomes):
            outcomes[place] = Outcome(ARTIFACT_NEEDED)
        places = [place for place, each in enumerate(outcomes) if isinstance(each, EventParcel)]
        parcels = [each for each in outcomes if isinstance(each, EventParcel)]
        refusals = Buffer.writer().write_events(parcels) if parcels else []
    except (BufferUnavailable, TransportError) as exc:
        raise StoresUnavailable("the buffer is unavailable") from exc
    refused = {places[each.index]: each.reason for each in refusals}
    return counted(
        "event",
        [
            each if isinstance(each, Outcome) else written(refused.get(place), ARTIFACT_NEEDED)
            for place, each in enumerate(outcomes)
        ],
    )


def _unknown(outcomes: Sequence[EventParcel | Outcome]) -> Iterator[int]:
    """The places of events that name an artifact without its bytes that their run does not have."""
    named = [
        (place, each.run, blob.hash)
        for place, each in enumerate(outcomes)
        if isinstance(each, EventParcel)
        for blob in each.artifacts
        if blob.data is None
    ]
    brought = {
        (each.run, blob.hash)
        for each in outcomes
        if isinstance(each, EventParcel)
        for blob in each.artifacts
        if blob.data is not None
    }
    asked = [each for each in named if each[1:] not in brought]
    known = RunBuffer.connect().refers_to([(run, sha256) for _, run, sha256 in asked]) if asked else []
    for (place, _, _), is_known in zip(asked, known, strict=True):
        if not is_known:
            yield place


def _parcel(item: Mapping[str, Any], caller: Caller) -> EventParcel:
    """One event, of the SDK or of any language."""
    if "event" not in item:
        sealed = event_from_json(item, ENVELOPE_BYTES)
        check_event(sealed.event)
        stored = {sha256: frame(each.data) for sha256, each in sealed.artifacts.items()}
        return _packed(sealed.event, encode_event(sealed.event), stored, caller)
    data = unbase64("event", item["event"])
    return _packed(_event(data), data, _artifacts(item.get("artifacts")), caller)


def _packed(event: RunEvent, data: bytes, stored: Mapping[str, bytes], caller: Caller) -> EventParcel:
    own(event.run.agent_id, caller)
    if len(event.body) > RUN_BODY_BYTES:
        raise RecordError(
            f"body has {len(event.body)} bytes, and at most {RUN_BODY_BYTES}: refer to an artifact"
        )
    blobs = tuple(Blob(artifact_key(each), each, stored.get(each)) for each in sorted(hashes_in(event)))
    return EventParcel(event.run, event.event_id, event.kind, data, blobs)


def _event(data: bytes) -> RunEvent:
    """The SDK's event, counted before it is unfolded."""
    content = unframe(data)
    check_light("event", content, RECORD_VALUES)
    body = fields_of(content).get("body")
    if isinstance(body, bytes):
        check_light("body", body, FROZEN_VALUES)
    event = decode_event(data)
    check_event(event)
    return event


def _artifacts(given: object) -> dict[str, bytes]:
    """The artifacts that came with an event, as they are to be stored. What a client claims of a hash is computed."""
    if given is None:
        return {}
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise RecordError("artifacts must be a list of objects of sha256 and data")
    found: dict[str, bytes] = {}
    for each in given:
        if each.get("data") is None:
            continue
        sha256, data = each.get("sha256"), unbase64("artifacts.data", each["data"])
        if not isinstance(sha256, str) or opened_artifact(sha256, data) is None:
            raise Refused("bad_value", f"artifacts.data is not what hashes to {str(sha256)[:64]!r}")
        found[sha256] = data
    return found
