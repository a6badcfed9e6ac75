"""Turns on their way: numbered within their hand, sealed, and packed with the blobs that they need."""

from collections.abc import Sequence
from typing import Final

from capture_sdk.codec import frame, packed
from capture_sdk.config import Config
from capture_sdk.delivery import Delivery
from capture_sdk.dictionaries import Dictionaries
from capture_sdk.keys import dictionary_key, envelope_key
from capture_sdk.records import TurnRecord
from capture_sdk.sealing import seal
from capture_sdk.splitting import Splitter
from capture_sdk.transports import Blob, Parcel, Refusal, Transport
from capture_sdk.turns import Turn

_HANDS_NUMBERED: Final = 4_096  # sequence counters kept; an agent plays a few hands at a time
_CAN_BE_CUT: Final = (
    "artifacts knowledge prompt response reasoning attempts adjustments decision unsent usage".split()
)


class TurnDelivery(Delivery[Turn, Parcel]):
    """Takes finished turns."""

    what = "turns"

    def __init__(self, transport: Transport, config: Config) -> None:
        self._transport = transport
        super().__init__(transport, config)

    def _begin(self) -> None:
        super()._begin()
        self._sequences: dict[tuple[object, object, object], int] = {}
        self._dictionaries = Dictionaries()
        self._splitter = Splitter()

    def submit(self, turn: Turn) -> None:
        """Take a finished turn, or count why not. Never blocks on the store."""
        # A fallback has only a charge; what an exception ended before any answer is no turn to show.
        if turn.fallback_reason is not None or (turn.error is not None and turn.answer is None):
            with self._lock:
                self._fallbacks += turn.is_fallback
            return
        self.accept(turn, turn.size())

    def _number(self, item: Turn) -> None:
        hand = item.where[:3]
        try:
            item.sequence = self._sequences.pop(hand, 0)
            self._sequences[hand] = item.sequence + 1
        except TypeError:
            pass  # ids that are no ids: the delivery thread will refuse them

    def _tidy(self) -> None:
        while len(self._sequences) > _HANDS_NUMBERED:
            del self._sequences[next(iter(self._sequences))]

    def _encode(self, item: Turn) -> Parcel:
        with self._lock:
            losses = dict(self._lost)
        key = item.key
        return self._parcel(seal(item, key, client_id=self.client_id, losses=losses, splitter=self._splitter))

    def _parcel(self, record: TurnRecord) -> Parcel:
        content = packed(record)
        if len(content) > self._config.max_record_bytes:
            record = fitting(record, self._config.max_record_bytes)
            content = packed(record)
        prompt, dictionary = record.prompt, None
        if self._transport.takes_dictionaries:
            framed, needed, blob = self._dictionaries.frame(record.key.agent_id, content)
            if needed is not None and blob is not None:
                dictionary = Blob(dictionary_key(needed), needed, blob)
        else:
            framed = frame(content)
        envelope = None
        if prompt is not None and prompt.env_hash is not None and prompt.envelope is not None:
            envelope = Blob(envelope_key(prompt.env_hash), prompt.env_hash, prompt.envelope)
        return Parcel(record.key, framed, envelope, dictionary)

    def _send(self, batch: Sequence[Parcel]) -> list[Refusal]:
        # outbox: allowed because this transport carries records to the buffer, not messages to a table
        return self._transport.write(batch)


def fitting(record: TurnRecord, limit: int) -> TurnRecord:
    """The record without its largest parts, until it fits: what it cannot keep it names as cut."""
    while len(packed(record)) > limit:
        sizes = {name: len(packed(record)) - len(packed(record.without(name))) for name in _CAN_BE_CUT}
        largest = max(sizes, key=lambda name: sizes[name])
        if sizes[largest] <= 0:
            break
        record = record.without(largest)
    return record
