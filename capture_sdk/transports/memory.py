"""A buffer in this process, for tests of agents and for looking at records without a Redis."""

import threading
from collections.abc import Sequence

from capture_sdk.codec import decode
from capture_sdk.records import TurnKey, TurnRecord
from capture_sdk.transports import Parcel, Refusal


class MemoryTransport:
    """Keeps parcels in dictionaries, as a Redis would: turns by key, envelopes by hash."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[TurnKey, Parcel] = {}
        self.envelopes: dict[str, bytes] = {}

    def write(self, parcels: Sequence[Parcel]) -> list[Refusal]:
        """Keep every parcel; a repeat replaces itself."""
        with self._lock:
            for parcel in parcels:
                if parcel.env_hash is not None and parcel.envelope is not None:
                    self.envelopes[parcel.env_hash] = parcel.envelope
                self._turns[parcel.key] = parcel
        return []

    def records(self) -> list[TurnRecord]:
        """Everything kept so far, decoded, in the order it was first written."""
        with self._lock:
            parcels = list(self._turns.values())
        return [decode(parcel.record, self.envelopes.get(parcel.env_hash or "")) for parcel in parcels]

    def close(self) -> None:
        """Nothing to let go of."""
