"""The client: one per process, shared by every agent and thread in it."""

from types import TracebackType
from typing import Self

from capture_sdk import config as configuration
from capture_sdk.config import Config
from capture_sdk.delivery import FlushResult, Stats
from capture_sdk.errors import ConfigError
from capture_sdk.ledger import HttpLedger, Ledger
from capture_sdk.records import Charge, RunKey
from capture_sdk.scopes import RunScope
from capture_sdk.transports import FullTransport, Transport
from capture_sdk.transports.off import OffTransport
from capture_sdk.turn_delivery import TurnDelivery
from capture_sdk.turns import Door, Turn


class Client:
    """Opens turns and delivers them in the background.

    ``Client.from_env()`` is the usual way; ``Client(config)`` or ``Client(redis_url=…, …)`` takes settings (those of
    ``Config``), ``transport=`` another way out (``MemoryTransport()`` in an agent's tests), ``ledger=`` another home
    for charges. Raises ConfigError at once when a setting is wrong or unknown; a store that cannot be reached is
    tolerated, and its turns are counted as lost.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        transport: Transport | None = None,
        ledger: Ledger | None = None,
        **options: object,
    ) -> None:
        if config is not None and options:
            raise ConfigError(f"give a Config or options, not both: {', '.join(options)}")
        self._config = config if config is not None else Config.of(**options)
        self._delivery = TurnDelivery(transport or transport_of(self._config), self._config)
        self._ledger = ledger or (HttpLedger(self._config) if self._config.base_url else None)

    @classmethod
    def from_env(
        cls, *, transport: Transport | None = None, ledger: Ledger | None = None, **options: object
    ) -> Self:
        """Read AGENT_CAPTURE_REDIS_URL and its siblings (see ``capture_sdk.config``); ``options`` win over them."""
        config = configuration.from_env(None, **options)
        if config is None:
            return cls(transport=OffTransport(), ledger=_NoLedger())
        return cls(config, transport=transport, ledger=ledger)

    @classmethod
    def off(cls) -> Self:
        """A client that records nothing, and keeps no charges."""
        return cls(transport=OffTransport(), ledger=_NoLedger())

    def turn(
        self,
        *,
        table_id: str,
        hand_number: int,
        agent_id: str,
        action_index: int,
        agent_version_id: str | None = None,
        outbox: Door | None = None,
        run: RunKey | RunScope | None = None,
    ) -> Turn:
        """Open a turn: ``with client.turn(...) as turn:``. Never raises.

        Ids are strings of 1 to 200 characters, the numbers integers from 0 to 2**63 - 1. A turn with any
        other is played but not recorded: it is counted as lost, with the reason ``bad_id``, and logged. A turn within
        a run (see ``capture_sdk.runs``) names it by itself; ``run`` names another.
        """
        where = (table_id, hand_number, agent_id, action_index)
        return Turn(where, sink=self._delivery, outbox=outbox, agent_version_id=agent_version_id, run=run)

    def record_charge(self, charge: Charge) -> None:
        """Write one row of the ledger: ``client.record_charge(turn.charge())``, once the turn's messages have left.

        Durable, not best effort: it returns when the row is written and raises LedgerError when it is not.
        Calling it again with the same turn counts nothing twice, so a retry is safe and the caller's to make.
        Raises ConfigError when the client was given no ledger to write to.
        """
        if self._ledger is None:
            raise ConfigError(
                "charges need a ledger: set base_url and service_key, or give the client ledger="
            )
        self._ledger.record(charge)

    def stats(self) -> Stats:
        """What became of the turns so far."""
        return self._delivery.stats()

    def flush(self, timeout: float = 5.0) -> FlushResult:
        """Wait, ``timeout`` seconds at most, until all is written or lost; true if all is written."""
        return self._delivery.flush(timeout)

    def close(self, timeout: float = 5.0) -> FlushResult:
        """Flush, then stop. Turns closed afterwards are counted as lost."""
        result = self._delivery.close(timeout)
        if self._ledger is not None:
            self._ledger.close()
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._config!r})"


class _NoLedger:
    """Where charges go while capture is off."""

    def record(self, charge: Charge) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Nothing to let go of."""


def transport_of(config: Config) -> FullTransport:
    """The transport that the settings name. Raises ConfigError."""
    if config.redis_url is not None:
        try:
            from capture_sdk.transports.redis import RedisTransport

            return RedisTransport.from_config(config)
        except ImportError as exc:
            raise ConfigError("the Redis transport needs redis-py: pip install 'capture-sdk[redis]'") from exc
    if config.base_url is not None:
        from capture_sdk.transports.http import HttpTransport

        return HttpTransport(config)
    raise ConfigError("a client needs redis_url or base_url, or a transport")
