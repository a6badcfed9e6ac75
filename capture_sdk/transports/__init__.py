"""The ways out of the process. Each one takes encoded turns and puts them in a buffer, or says why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from capture_sdk.records import RunKey, TurnKey


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that turns share, stored once under a key of their own: an envelope, or a dictionary.

    ``data`` is None where the writer only knows the hash: if the store has them no longer, what needs them is
    refused as ``blob_needed``, to be sent again with them.
    """

    key: str
    hash: str
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Parcel:
    """One encoded turn, ready for a store: its key, its record, and the blobs without which it cannot be read."""

    key: TurnKey
    record: bytes
    envelope: Blob | None = None
    dictionary: Blob | None = None

    @property
    def blobs(self) -> tuple[Blob, ...]:
        """What it needs."""
        return tuple(blob for blob in (self.envelope, self.dictionary) if blob is not None)


@dataclass(frozen=True, slots=True)
class EventParcel:
    """One encoded event of a run, ready for a store, with the artifacts that it refers to.

    A blob's ``data`` is compressed as a store keeps it; its hash is of the bytes before that.
    """

    run: RunKey
    event_id: str
    kind: str
    event: bytes
    artifacts: tuple[Blob, ...] = ()

    @property
    def blobs(self) -> tuple[Blob, ...]:
        """What it needs."""
        return self.artifacts


@dataclass(frozen=True, slots=True)
class Refusal:
    """One parcel that the store would not take, by its place in the batch, with a one-word reason."""

    index: int
    reason: str
    retryable: bool


BLOB_NEEDED: Final = "blob_needed"


class Transport(Protocol):
    """Where parcels go. Writing a parcel twice is the same as writing it once."""

    @property
    def takes_dictionaries(self) -> bool:
        """Whether records may need a dictionary, or have to stand alone."""
        ...

    def write(self, parcels: Sequence[Parcel]) -> list[Refusal]:
        """Write a batch; return what was refused. Raises TransportError when nothing can be said of any."""
        ...

    def close(self) -> None:
        """Let go of connections. A later write opens them again."""
        ...

    def forked(self) -> None:
        """In a forked child: forget the parent's connections, and touch none of its locks."""
        ...


class EventTransport(Protocol):
    """Where events of runs go. Writing an event twice is the same as writing it once: the first to arrive stays."""

    def write_events(self, parcels: Sequence[EventParcel]) -> list[Refusal]:
        """Write a batch, of several runs perhaps, each run's in their order. Returns and raises as ``write`` does."""
        ...

    def close(self) -> None:
        """Let go of connections. A later write opens them again."""
        ...

    def forked(self) -> None:
        """In a forked child: forget the parent's connections, and touch none of its locks."""
        ...


class FullTransport(Transport, EventTransport, Protocol):
    """One that carries both: each of the SDK's own."""
