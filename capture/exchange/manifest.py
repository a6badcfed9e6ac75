"""The manifest of an exported hand as classes, and as the JSON that is written.

It is the last member that is written and the first that is read. ``docs/export.md`` shows one.
"""

import datetime
import json
from dataclasses import dataclass
from typing import Final

from capture.exchange.archive import Member

MANIFEST_NAME: Final = "manifest.json"
FORMAT: Final = "agent-decision-capture/hand"
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """One pinned turn: where it belongs, what its record does not say, and the member that holds the record."""

    agent_id: str
    action_index: int
    agent_version_id: str | None
    pinned_at: datetime.datetime
    pinned_by: str
    member: Member


@dataclass(frozen=True, slots=True)
class EnvelopeEntry:
    """One agent's envelope; agents with the same one share the member, which holds its raw bytes."""

    agent_id: str
    env_hash: str
    member: Member


@dataclass(frozen=True, slots=True)
class Absence:
    """A turn that is not in the file, or not whole: ``not_kept``, ``unreadable``, or what its envelope is."""

    agent_id: str
    action_index: int
    reason: str

    def as_json(self) -> dict[str, object]:
        """As it stands in the manifest and in reports."""
        return {"agentId": self.agent_id, "actionIndex": self.action_index, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of it, in the order of the file."""

    table_id: str
    hand_number: int
    agents: tuple[str, ...]
    records: tuple[RecordEntry, ...]
    envelopes: tuple[EnvelopeEntry, ...]
    charges: Member
    missing: tuple[Absence, ...]

    @property
    def hand(self) -> tuple[str, int]:
        """Table and hand number."""
        return self.table_id, self.hand_number

    @property
    def members(self) -> set[str]:
        """The names of every member that it needs, its own included."""
        entries: tuple[RecordEntry | EnvelopeEntry, ...] = (*self.records, *self.envelopes)
        return {*(each.member.name for each in entries), self.charges.name, MANIFEST_NAME}


def write_manifest(manifest: Manifest) -> bytes:
    """The manifest as JSON: the same manifest is the same bytes."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "tableId": manifest.table_id,
        "handNumber": manifest.hand_number,
        "agents": list(manifest.agents),
        "records": [_record_json(each) for each in manifest.records],
        "envelopes": [
            {"agentId": each.agent_id, "envHash": each.env_hash, **_member_json(each.member)}
            for each in manifest.envelopes
        ],
        "charges": _member_json(manifest.charges),
        "missing": [each.as_json() for each in manifest.missing],
    }
    return json.dumps(content, indent=1, allow_nan=False).encode()


def _record_json(entry: RecordEntry) -> dict[str, object]:
    return {
        "agentId": entry.agent_id,
        "actionIndex": entry.action_index,
        "agentVersionId": entry.agent_version_id,
        "pinnedAt": entry.pinned_at.astimezone(datetime.UTC).isoformat(),
        "pinnedBy": entry.pinned_by,
        **_member_json(entry.member),
    }


def _member_json(member: Member) -> dict[str, object]:
    return {"member": member.name, "sha256": member.sha256, "size": member.size}
