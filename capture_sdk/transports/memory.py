"""A buffer in this process, for tests of agents and for looking at records without a Redis."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from capture_sdk.codec import decode, unframe
from capture_sdk.records import TurnKey, TurnRecord
from capture_sdk.transports import EventParcel, Parcel, Refusal

if TYPE_CHECKING:
    from capture_sdk.runs.records import RunEvent


class MemoryTransport:
    """Keeps parcels in dictionaries, as a Redis would: turns by key, events by id, blobs by hash.

    ``blobs`` holds envelopes, dictionaries, and the artifacts of runs, all as they were before compression.
    """

    takes_dictionaries = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[TurnKey, Parcel] = {}
        self._events: dict[str, EventParcel] = {}
        self.blobs: dict[str, bytes] = {}

    def write(self, parcels: Sequence[Parcel]) -> list[Refusal]:
        """Keep every parcel; a repeat replaces itself."""
        with self._lock:
            for parcel in parcels:
                self.blobs |= {blob.hash: blob.data for blob in parcel.blobs if blob.data is not None}
                self._turns[parcel.key] = parcel
        return []

    def records(self) -> list[TurnRecord]:
        """Everything kept so far, decoded, in the order it was first written."""
        with self._lock:
            parcels = list(self._turns.values())
        return [self._decoded(parcel) for parcel in parcels]

    def write_events(self, parcels: Sequence[EventParcel]) -> list[Refusal]:
        """Keep every event that is not here yet, and the artifacts that it refers to."""
        with self._lock:
            for parcel in parcels:
                for blob in parcel.artifacts:
                    if blob.hash not in self.blobs and blob.data is not None:
                        self.blobs[blob.hash] = unframe(blob.data)
                self._events.setdefault(parcel.event_id, parcel)
        return []

    def events(self) -> list["RunEvent"]:
        """Every event of a run kept so far, decoded, in the order of arrival."""
        from capture_sdk.runs.records import decode_event

        with self._lock:
            parcels = list(self._events.values())
        return [decode_event(parcel.event) for parcel in parcels]

    def close(self) -> None:
        """Nothing to let go of."""

    def forked(self) -> None:
        """The lock may have been held by a thread that is not here."""
        self._lock = threading.Lock()

    def _decoded(self, parcel: Parcel) -> TurnRecord:
        envelope, dictionary = parcel.envelope, parcel.dictionary
        return decode(
            parcel.record,
            None if envelope is None else self.blobs.get(envelope.hash),
            dictionary=None if dictionary is None else self.blobs.get(dictionary.hash),
        )
