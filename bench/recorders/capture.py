"""The SDK of this project."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from bench.workload import AGENT, TABLE, Turn, endless, lines

CLOSE_SECONDS: Final = 2.0


class CaptureSdk:
    """This project, as an agent uses it."""

    queue: Mapping[str, int] = {}

    def __init__(self, url: str) -> None:
        from capture_sdk import Client, Config, Outbox

        self._client = Client(Config.of(redis_url=url, **self.queue))
        self._outbox: Outbox[dict[str, Any], None] = Outbox(lambda message: None)

    def record(self, turn: Turn) -> None:
        """Every verb of a turn once."""
        with self._client.turn(
            table_id=TABLE,
            hand_number=turn.hand,
            agent_id=AGENT,
            action_index=turn.action_index,
            agent_version_id=turn.version,
            outbox=self._outbox,
        ) as open_turn:
            open_turn.knows(**turn.knowledge)
            open_turn.prompt(turn.envelope, turn.remainder, joiner="")
            open_turn.response(turn.response)
            open_turn.parsed(turn.message["action"], turn.message["amount"])
            self._outbox.send(turn.message)

    def flush(self, seconds: float) -> None:
        """Wait until all is written or lost."""
        self._client.flush(seconds)

    def close(self) -> None:
        """Close within the bound that the exit of a process has too."""
        self._client.close(CLOSE_SECONDS)

    def lost(self) -> dict[str, int] | None:
        """The client's own count, with its reasons."""
        return dict(self._client.stats().lost)


class CaptureSdkWide(CaptureSdk):
    """With a queue that takes the whole workload, so that throughput and not loss is measured."""

    queue: Mapping[str, int] = {"queue_items": 1_000_000, "queue_bytes": 2**32}


class CaptureTransport:
    """The Redis transport alone: records are encoded before, as the bare pipeline's are not."""

    _PREPARED: Final = 4_200  # more than are asked for

    def __init__(self, url: str) -> None:
        from capture_sdk import Client, Config, Outbox
        from capture_sdk.transports.redis import RedisTransport

        self._transport = RedisTransport.from_config(Config(redis_url=url))
        collector = Collector()
        client = Client(Config(queue_items=1_000_000, queue_bytes=2**40), transport=collector)
        encoder = CaptureSdk.__new__(CaptureSdk)
        encoder._client, encoder._outbox = client, Outbox(lambda message: None)
        for turn in islice(endless(lines()), self._PREPARED):
            encoder.record(turn)
        client.close(60)
        self._parcels = iter(collector.parcels)
        self._batch: list[Any] = []

    def record(self, turn: Turn) -> None:
        """Put one more prepared record into the batch, and write it when there are 64."""
        self._batch.append(next(self._parcels))
        if len(self._batch) == 64:
            self.flush(0)

    def flush(self, seconds: float) -> None:
        """Write the batch."""
        if self._batch:
            self._transport.write(self._batch)
            self._batch = []

    def close(self) -> None:
        """Let go of the connection."""
        self._transport.close()

    def lost(self) -> dict[str, int] | None:
        """Nothing is counted here."""
        return None


class Collector:
    """A transport that keeps what it is given, to be written later."""

    def __init__(self, *, takes_dictionaries: bool = True) -> None:
        self.takes_dictionaries = takes_dictionaries
        self.parcels: list[Any] = []

    def write(self, parcels: Any) -> list[Any]:
        self.parcels += parcels
        return []

    def close(self) -> None: ...

    def forked(self) -> None: ...
