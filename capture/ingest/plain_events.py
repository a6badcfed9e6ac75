"""Events of runs as plain JSON, for agents that have no SDK: checked, redacted, and large values put apart.

    agentId runId eventId kind     needed
    body                           an object; its fields by kind stand in docs/runs.md
    at                             the time of arrival unless given
    writer sequence                who numbered it, and its number; both or neither
    parentId losses

A value may be ``{"$bytes": base64}``, at any depth. What a model call was asked and answered, and whatever else is
large, becomes an artifact, as in the SDK, by the SDK's own code and with the default capture policy.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from django.utils import timezone

from capture_sdk.errors import RecordError
from capture_sdk.freeze import snapshot_items
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.redact.policy import CapturePolicy
from capture_sdk.runs.drafts import Draft, Writer
from capture_sdk.runs.records import RunKey
from capture_sdk.runs.sealing import Sealed, seal
from capture_sdk.wire import time_from_json, unbase64

Item = Mapping[str, Any]

_POLICY: Final = CapturePolicy()
_FIELDS: Final = frozenset("agentId runId eventId kind body at writer sequence parentId losses".split())
_WRITER: Final = "plain"  # of events that nobody numbered: their order is that of their arrival


def event_from_json(item: Item, longest: int) -> Sealed:
    """The event that a plain item stands for; an artifact of more than ``longest`` bytes leaves only its size.

    Raises RecordError or IdError naming the field.
    """
    if unknown := item.keys() - _FIELDS:
        raise RecordError(f"{min(unknown)[:40]!r} is no field of an event")
    writer, sequence = _numbered(item)
    at = timezone.now() if item.get("at") is None else time_from_json("at", item["at"])
    fields, unsettled = snapshot_items(_body(item.get("body")))
    parent = item.get("parentId")
    key = RunKey(checked_id("agentId", item.get("agentId")), checked_id("runId", item.get("runId")))
    draft = Draft(
        writer=Writer(key, cast(Any, None)),  # it delivers nothing: the numbers were given elsewhere
        key=key,
        kind=checked_id("kind", item.get("kind")),
        event_id=checked_id("eventId", item.get("eventId")),
        writer_id=writer,
        sequence=sequence,
        at=at.timestamp(),
        parent_id=None if parent is None else checked_id("parentId", parent),
        fields=fields,
        unsettled=unsettled,
    )
    return seal(draft, _POLICY, losses=_losses(item.get("losses")), limit=longest)


def _numbered(item: Item) -> tuple[str, int]:
    writer, sequence = item.get("writer"), item.get("sequence")
    if (writer is None) != (sequence is None):
        raise RecordError("writer and sequence belong together: give both, or neither")
    if writer is None:
        return _WRITER, 0
    return checked_id("writer", writer), checked_index("sequence", sequence)


def _losses(given: object) -> dict[str, int]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise RecordError(f"losses must be an object of reasons and counts, not {type(given).__name__}")
    return {
        checked_id("losses", reason): checked_index(f"losses.{reason[:40]}", count)
        for reason, count in given.items()
    }


def _body(given: object) -> dict[str, object]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise RecordError(f"body must be an object, not {type(given).__name__}")
    try:
        return {name: _with_bytes(f"body.{name[:40]}", value) for name, value in given.items()}
    except RecursionError:
        raise RecordError("body is nested too deeply") from None


def _with_bytes(name: str, value: object) -> object:
    """The value, with bytes where they are written as base64."""
    if isinstance(value, list):
        return [_with_bytes(name, each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$bytes"}:
        return unbase64(name, value["$bytes"])
    return {key: _with_bytes(name, each) for key, each in value.items()}
