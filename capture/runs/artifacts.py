"""Artifacts of runs: found in either store, and hashed at every read."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from capture.hands import StoresUnavailable
from capture.limits import ENVELOPE_BYTES
from capture.runs.asking import from_buffer, from_postgres, neither
from capture.runs.cold import kept_artifacts, kept_event
from capture.runs.order import HeldEvent
from capture_sdk.codec import VERSION, decompress
from capture_sdk.errors import RecordError
from capture_sdk.runs.records import ARTIFACT, RunEvent, RunKey, artifact_refs

_HASH: Final = re.compile("[0-9a-f]{64}")


class ArtifactUnreferenced(Exception):
    """No such event refers to the artifact, so it is nobody's here."""


def read_artifacts(hashes: Iterable[str]) -> dict[str, bytes]:
    """The artifacts of these hashes that are there and hash to what they are called.

    Raises StoresUnavailable when neither store answers.
    """
    return _read(sorted(set(hashes)))[0]


def read_artifact(key: RunKey, event_id: str, sha256: str) -> bytes | None:
    """The artifact that this event refers to; None where it is no longer there, or is damaged.

    Raises ArtifactUnreferenced where the event is not there or refers to no such artifact: a hash alone opens nothing.
    Raises StoresUnavailable where a store that may have either does not answer.
    """
    hot = from_buffer(lambda buffer: [buffer.event(key, event_id)])
    is_referred = _refers(hot, sha256)
    cold = None if is_referred else from_postgres(lambda: [kept_event(key, event_id)])
    if not is_referred and not _refers(cold, sha256):
        if hot is None or cold is None:
            raise StoresUnavailable("a store is unavailable, so this event may be there and cannot be read")
        raise ArtifactUnreferenced
    found, is_sure = _read([sha256])
    if not found and not is_sure:
        raise StoresUnavailable("a store is unavailable, so this artifact may be there and cannot be read")
    return found.get(sha256)


def _read(wanted: list[str]) -> tuple[dict[str, bytes], bool]:
    """What is there of these; the second value is whether all others are known to be absent."""
    hot = from_buffer(lambda buffer: buffer.artifacts(wanted))
    found = sound(hot or {})
    lacking = [each for each in wanted if each not in found]
    cold = from_postgres(lambda: kept_artifacts(lacking)) if lacking else {}
    if hot is None and cold is None:
        raise neither()
    return found | sound(cold or {}), hot is not None and cold is not None


def hashes_of(events: Iterable[HeldEvent]) -> set[str]:
    """The artifacts that these events refer to."""
    return {sha256 for each in events if each.event is not None for sha256 in hashes_in(each.event)}


def hashes_in(event: RunEvent) -> set[str]:
    """The artifacts that an event refers to. What is no hash is none, whatever it says."""
    return {
        ref[ARTIFACT] for ref in artifact_refs(event.fields) if _HASH.fullmatch(ref[ARTIFACT]) is not None
    }


def _refers(found: list[HeldEvent | None] | None, sha256: str) -> bool:
    return sha256 in hashes_of(each for each in found or () if each is not None)


def sound(stored: Mapping[str, bytes]) -> dict[str, bytes]:
    """The artifacts that hash to what they are called, uncompressed."""
    opened = {sha256: opened_artifact(sha256, data) for sha256, data in stored.items()}
    return {sha256: data for sha256, data in opened.items() if data is not None}


def opened_artifact(sha256: str, stored: bytes) -> bytes | None:
    """The bytes within what is stored; None where they are not those of the hash."""
    if stored[:1] != VERSION:
        return None
    try:
        data = decompress(stored[1:], ENVELOPE_BYTES)
    except RecordError:
        return None
    return data if hashlib.sha256(data).hexdigest() == sha256 else None
