"""Events on their way: sealed, and packed with the artifacts that they refer to."""

from collections.abc import Sequence

from capture_sdk.codec import frame
from capture_sdk.config import Config
from capture_sdk.delivery import Delivery
from capture_sdk.keys import artifact_key
from capture_sdk.runs.drafts import Draft
from capture_sdk.runs.records import encode_event
from capture_sdk.runs.sealing import seal
from capture_sdk.transports import Blob, EventParcel, EventTransport, Refusal
from capture_sdk.transports.off import OffTransport


class EventDelivery(Delivery[Draft, EventParcel]):
    """Takes drafts of events; each run's losses go with its later events."""

    what = "events"

    def __init__(self, transport: EventTransport, config: Config) -> None:
        self._transport = transport
        self.is_off = isinstance(transport, OffTransport)
        super().__init__(transport, config)

    @property
    def longest(self) -> int:
        """The bytes of an artifact that is still kept."""
        return self._config.max_record_bytes

    def _encode(self, item: Draft) -> EventParcel:
        with self._lock:
            losses = item.writer.losses.before(item.sequence)
        sealed = seal(item, self.policy, losses=losses, limit=self.longest)
        blobs = tuple(
            Blob(artifact_key(each.sha256), each.sha256, frame(each.data))
            for each in sealed.artifacts.values()
        )
        return EventParcel(item.key, item.event_id, str(item.kind), encode_event(sealed.event), blobs)

    def _send(self, batch: Sequence[EventParcel]) -> list[Refusal]:
        return self._transport.write_events(batch)

    def _missed(self, items: Sequence[Draft], reason: str) -> None:
        for item in items:
            if item.writer.id == item.writer_id:
                item.writer.losses.add(item.sequence, reason)
