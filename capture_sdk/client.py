"""The client: one per process, shared by every agent and thread in it."""

import logging
from types import TracebackType
from typing import Self

from capture_sdk import config as configuration
from capture_sdk.config import Config
from capture_sdk.delivery import Delivery, FlushResult, Stats
from capture_sdk.errors import ConfigError, IdError
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.records import TurnKey
from capture_sdk.transports import Transport
from capture_sdk.transports.off import OffTransport
from capture_sdk.turns import Door, Turn

log = logging.getLogger("capture_sdk")


class Client:
    """Opens turns and delivers them in the background.

    ``Client.from_env()`` is the usual way; ``Client(config)`` takes settings, ``transport=`` another way out
    (``MemoryTransport()`` in an agent's tests). Raises ConfigError at once when a setting is wrong; a
    store that cannot be reached is tolerated, and its turns are counted as lost.
    """

    def __init__(self, config: Config | None = None, *, transport: Transport | None = None) -> None:
        self._config = config or Config()
        self._delivery = Delivery(transport or _redis(self._config), self._config)

    @classmethod
    def from_env(cls) -> Self:
        """Read AGENT_CAPTURE_REDIS_URL and its siblings (see ``capture_sdk.config``)."""
        config = configuration.from_env()
        return cls.off() if config is None else cls(config)

    @classmethod
    def off(cls) -> Self:
        """A client that records nothing."""
        return cls(transport=OffTransport())

    def turn(
        self,
        *,
        table_id: str,
        hand_number: int,
        agent_id: str,
        action_index: int,
        agent_version_id: str | None = None,
        outbox: Door | None = None,
    ) -> Turn:
        """Open a turn: ``with client.turn(...) as turn:``. Never raises.

        Ids are strings of 1 to 200 characters, the numbers integers from 0 to 2**63 - 1. A turn with any
        other is played but not recorded: it is counted as lost, with the reason ``bad_id``.
        """
        try:
            key = TurnKey(
                checked_id("table_id", table_id),
                checked_index("hand_number", hand_number),
                checked_id("agent_id", agent_id),
                checked_index("action_index", action_index),
            )
        except IdError as exc:
            log.warning("capture refuses a turn: %s", exc)
            return Turn(TurnKey("?", 0, "?", 0), sink=_Refused(self._delivery), outbox=outbox)
        return Turn(key, sink=self._delivery, outbox=outbox, agent_version_id=agent_version_id)

    def stats(self) -> Stats:
        """What became of the turns so far."""
        return self._delivery.stats()

    def flush(self, timeout: float = 5.0) -> FlushResult:
        """Wait, ``timeout`` seconds at most, until all is written or lost; true if all is written."""
        return self._delivery.flush(timeout)

    def close(self, timeout: float = 5.0) -> FlushResult:
        """Flush, then stop. Turns closed afterwards are counted as lost."""
        return self._delivery.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._config!r})"


class _Refused:
    """The sink of a turn whose key no store could hold."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery

    def submit(self, turn: Turn) -> None:
        self._delivery.refuse("bad_id")

    def fault(self, where: str, error: Exception) -> None:
        self._delivery.fault(where, error)


def _redis(config: Config) -> Transport:
    if config.redis_url is None:
        raise ConfigError("Config.redis_url is missing: set it, or give a transport")
    try:
        from capture_sdk.transports.redis import RedisTransport

        return RedisTransport.from_config(config)
    except ImportError as exc:
        raise ConfigError("the Redis transport needs redis-py: pip install 'capture-sdk[redis]'") from exc
