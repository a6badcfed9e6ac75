"""A manifest read from a file that may be hostile: every value is checked before anything is done with it."""

import datetime
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from capture.exchange.archive import Member
from capture.exchange.errors import ExchangeError
from capture.exchange.manifest import FORMAT, VERSION, Absence, EnvelopeEntry, Manifest, RecordEntry
from capture.limits import PINNED_BY_LENGTH
from capture.soundness import DIGEST
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id, checked_index

Value = TypeVar("Value")


def read_manifest(data: bytes) -> Manifest:
    """The manifest in these bytes, every value checked. Raises ExchangeError naming the field."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise ExchangeError("the manifest is not JSON") from exc
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ExchangeError(f"the file is no export of a hand: its manifest names no format {FORMAT!r}")
    version = content.get("version")
    if version != VERSION:
        raise ExchangeError(
            f"the file is of version {version!r:.20}, and version {VERSION} is read here: update"
        )
    try:
        return _manifest(content)
    except IdError as exc:
        raise ExchangeError(f"the manifest is wrong: {exc}") from exc


def check_whole(manifest: Manifest, names: set[str]) -> None:
    """The manifest agrees with itself, and with the members that the file has. Raises ExchangeError."""
    if manifest.members != names:
        odd = min(manifest.members ^ names)
        raise ExchangeError(f"manifest and file disagree: only one of them knows of {odd!r:.100}")
    turns = [(each.agent_id, each.action_index) for each in manifest.records]
    envelopes = [(each.agent_id, each.env_hash) for each in manifest.envelopes]
    if len({*turns, *envelopes}) < len(turns) + len(envelopes):
        raise ExchangeError("the manifest names a turn or an envelope twice")
    if not {agent for agent, _ in (*turns, *envelopes)} <= set(manifest.agents):
        raise ExchangeError("the manifest holds a turn of an agent that it does not name")


def _manifest(content: Mapping[str, Any]) -> Manifest:
    return Manifest(
        table_id=checked_id("tableId", content.get("tableId")),
        hand_number=checked_index("handNumber", content.get("handNumber")),
        agents=tuple(checked_id("agents", each) for each in _given(content, "agents", list)),
        records=tuple(_record(each) for each in _objects(content, "records")),
        envelopes=tuple(_envelope(each) for each in _objects(content, "envelopes")),
        charges=_member(_given(content, "charges", dict)),
        missing=tuple(_absence(each) for each in _objects(content, "missing")),
    )


def _record(content: Mapping[str, Any]) -> RecordEntry:
    version = content.get("agentVersionId")
    if version is not None:
        _given(content, "agentVersionId", str)
    pinned_by = _given(content, "pinnedBy", str)
    if len(pinned_by) > PINNED_BY_LENGTH:
        raise ExchangeError(f"the manifest's pinnedBy has more than {PINNED_BY_LENGTH} characters")
    return RecordEntry(
        agent_id=checked_id("agentId", content.get("agentId")),
        action_index=checked_index("actionIndex", content.get("actionIndex")),
        agent_version_id=version,
        pinned_at=_time(_given(content, "pinnedAt", str)),
        pinned_by=pinned_by,
        member=_member(content),
    )


def _envelope(content: Mapping[str, Any]) -> EnvelopeEntry:
    return EnvelopeEntry(
        checked_id("agentId", content.get("agentId")), _digest(content, "envHash"), _member(content)
    )


def _absence(content: Mapping[str, Any]) -> Absence:
    return Absence(
        checked_id("agentId", content.get("agentId")),
        checked_index("actionIndex", content.get("actionIndex")),
        _given(content, "reason", str)[:100],
    )


def _member(content: Mapping[str, Any]) -> Member:
    size = checked_index("size", content.get("size"))
    return Member(_given(content, "member", str), _digest(content, "sha256"), size)


def _digest(content: Mapping[str, Any], name: str) -> str:
    value = _given(content, name, str)
    if not DIGEST.fullmatch(value):
        raise ExchangeError(f"the manifest's {name} is no sha256 in hex")
    return value


def _time(text: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)
    except (ValueError, OverflowError) as exc:
        raise ExchangeError("the manifest's pinnedAt is no time in ISO 8601") from exc


def _given(content: Mapping[str, Any], name: str, kind: type[Value]) -> Value:
    value = content.get(name)
    if not isinstance(value, kind):
        raise ExchangeError(f"the manifest's {name} is missing or is no {kind.__name__}")
    return value


def _objects(content: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = _given(content, name, list)
    if not all(isinstance(each, Mapping) for each in found):
        raise ExchangeError(f"the manifest's {name} holds something that is no object")
    return found
