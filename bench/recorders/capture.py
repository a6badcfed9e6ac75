"""The SDK of this project."""

from collections.abc import Mapping
from typing import Any, Final

from bench.workload import AGENT, TABLE, Turn

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
