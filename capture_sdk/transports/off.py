"""Capture switched off, as an object: agent code needs no ``if``."""

from collections.abc import Sequence

from capture_sdk.transports import EventParcel, Parcel, Refusal


class OffTransport:
    """Takes everything and keeps nothing."""

    takes_dictionaries = False

    def write(self, parcels: Sequence[Parcel]) -> list[Refusal]:
        """Keep nothing, refuse nothing."""
        return []

    def write_events(self, parcels: Sequence[EventParcel]) -> list[Refusal]:
        """Keep nothing, refuse nothing."""
        return []

    def close(self) -> None:
        """Nothing to let go of."""

    def forked(self) -> None:
        """Nothing to forget."""
