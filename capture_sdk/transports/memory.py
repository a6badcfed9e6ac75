"""A buffer in this process, for tests of agents and for looking at records without a Redis."""

import threading
from collections.abc import Sequence

from capture_sdk.codec import decode
from capture_sdk.records import TurnKey, TurnRecord
from capture_sdk.transports import Parcel, Refusal


class MemoryTransport:
    """Keeps parcels in dictionaries, as a Redis would: turns by key, blobs by hash."""

    takes_dictionaries = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[TurnKey, Parcel] = {}
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
