"""What the buffer's turns tell of themselves: their size before anything was shared, and their clients' losses."""

from dataclasses import dataclass, field
from typing import Any

from capture_sdk.codec import decode, dictionary_hash, unframe
from capture_sdk.errors import RecordError
from capture_sdk.keys import dictionary_key


@dataclass(slots=True)
class TurnSample:
    """Sums over the turns that were read.

    ``raw_bytes``: each record uncompressed, and its envelope with it. ``unreadable`` turns have lost their dictionary
    or are damaged. A client's losses only grow, so its record with the most tells them all.
    """

    read: int = 0
    unreadable: int = 0
    raw_bytes: int = 0
    _losses: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def clients(self) -> int:
        """How many clients wrote the turns."""
        return len(self._losses)

    @property
    def losses(self) -> dict[str, int]:
        """Turns that clients lost before they reached the buffer, by reason, as their latest records tell."""
        total: dict[str, int] = {}
        for losses in self._losses.values():
            for reason, count in losses.items():
                total[reason] = total.get(reason, 0) + count
        return dict(sorted(total.items()))

    def read_turns(self, redis: Any, keys: list[bytes], envelopes: dict[str, int]) -> None:
        """Read these turns; ``envelopes`` has the length of each envelope by its hash."""
        found = [raw for raw in _get(redis, keys) if raw is not None]
        needed = sorted({name for raw in found if (name := dictionary_hash(raw)) is not None})
        blobs = _get(redis, [dictionary_key(name) for name in needed])
        dictionaries = dict(zip(needed, blobs, strict=True))
        for raw in found:
            self._add(raw, dictionaries.get(dictionary_hash(raw) or ""), envelopes)

    def _add(self, raw: bytes, dictionary: bytes | None, envelopes: dict[str, int]) -> None:
        try:
            size = len(unframe(raw, dictionary))
            record = decode(raw, dictionary=dictionary)
        except RecordError:
            self.unreadable += 1
            return
        self.read += 1
        env_hash = record.prompt.env_hash if record.prompt is not None else None
        self.raw_bytes += size + envelopes.get(env_hash or "", 0)
        if record.client_id is not None:
            held = self._losses.setdefault(record.client_id, {})
            if sum(record.losses.values()) > sum(held.values()):
                self._losses[record.client_id] = dict(record.losses)


def _get(redis: Any, keys: list[Any]) -> list[bytes | None]:
    """What is under these keys; None where there is nothing, or something that is no text."""
    with redis.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.get(key)
        answers = pipe.execute(raise_on_error=False)
    return [each if isinstance(each, bytes) else None for each in answers]
