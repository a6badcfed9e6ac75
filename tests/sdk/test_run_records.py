"""An event comes back from a store as it went in, and what is no event is refused."""

import datetime

import pytest

from capture_sdk.errors import IdError, RecordError
from capture_sdk.freeze import pack
from capture_sdk.runs.records import (
    Artifact,
    EventKind,
    RunEvent,
    RunKey,
    artifact_ref,
    artifact_refs,
    body,
    decode_event,
    encode_event,
)

AT = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)


def event(**changes: object) -> RunEvent:
    given: dict[str, object] = {
        "run": RunKey("claims:agent", "run%1"),
        "event_id": "e-1",
        "kind": EventKind.EVENT,
        "at": AT,
        "body": body(name="read", data={"n": 2**70, "half": "\ud83d"}),
        "writer": "w",
        "sequence": 3,
        "parent_id": "e-0",
        "redactions": {"mask": 1},
        "losses": {"queue_full": 2},
    }
    return RunEvent(**(given | changes))  # type: ignore[arg-type]


def test_an_event_comes_back_as_it_went_in() -> None:
    assert decode_event(encode_event(event())) == event()
    assert decode_event(encode_event(event())).fields["data"] == {"n": 2**70, "half": "\ud83d"}


def test_a_kind_of_a_newer_writer_is_kept() -> None:
    assert decode_event(encode_event(event(kind="tool.retried"))).kind == "tool.retried"


@pytest.mark.parametrize("data", [b"", b"\x07x", b"\x01junk", encode_event(event())[:-3]])
def test_what_is_no_event_is_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        decode_event(data)


def test_a_run_needs_ids() -> None:
    with pytest.raises(IdError):
        RunKey("", "r")


def test_references_are_found_wherever_they_stand() -> None:
    ref = artifact_ref(Artifact("ab" * 32, b"1234", "text/plain"))
    assert ref == {"$artifact": "ab" * 32, "bytes": 4, "mediaType": "text/plain"}
    assert list(artifact_refs({"a": [1, {"b": ref}], "c": ref})) == [ref, ref]
    assert list(artifact_refs(event(body=pack({"x": 1})).fields)) == []
