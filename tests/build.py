"""Builders: a table of agents that take turns through the SDK, as hosted agents do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django_redis import get_redis_connection

from capture.ledger import record_charges
from capture_sdk import Client, Config, MemoryTransport, Outbox, Turn
from capture_sdk.records import Amount
from capture_sdk.transports.redis import RedisTransport

TABLE, HAND = "table-7", 42
ENVELOPE = "You are a careful poker player.\n" * 20
REMAINDER = "## Table\nPot 140. Legal: fold, call 60, raise 120..200"


def memory_client() -> tuple[Client, MemoryTransport]:
    """A client whose records can be looked at without a store."""
    transport = MemoryTransport()
    return Client(transport=transport), transport


def redis_client(redis: Any, *, ttl_seconds: int = 86_400, **options: Any) -> Client:
    """A client that writes to this Redis; ``options`` are those of ``Config``."""
    config = Config(ttl_seconds=ttl_seconds, **options)
    return Client(config, transport=RedisTransport(redis, ttl_seconds=ttl_seconds))


_opened: list[Client] = []


def opened(**options: Any) -> Client:
    """A client of these options, which is closed when its test ends: no thread or connection outlives it."""
    _opened.append(Client(**options))
    return _opened[-1]


def close_opened() -> None:
    """Close what ``opened`` gave."""
    while _opened:
        _opened.pop().close(0)


@dataclass
class Seat:
    """One agent at a table: its client, its outbox and whatever it really sent."""

    client: Client
    agent_id: str = "river-rat"
    table_id: str = TABLE
    hand_number: int = HAND
    version: str | None = "v12"
    sent: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outbox: Outbox[Any, None] = Outbox(self.sent.append)

    def turn(self, action_index: int) -> Turn:
        """Open a turn."""
        return self.client.turn(
            table_id=self.table_id,
            hand_number=self.hand_number,
            agent_id=self.agent_id,
            action_index=action_index,
            agent_version_id=self.version,
            outbox=self.outbox,
        )

    def play(self, action_index: int, **options: Any) -> Turn:
        """Take a whole turn, as ``take`` does, and wait until it is delivered."""
        with self.turn(action_index) as turn:
            take(turn, self.outbox, **options)
        assert self.client.flush(5)
        return turn

    def fall_back(self, action_index: int, reason: str = "timeout") -> Turn:
        """Take a turn whose model call fails: the safe action leaves."""
        with self.turn(action_index) as turn:
            turn.prompt(ENVELOPE, REMAINDER)
            turn.attempt("timeout", latency_ms=300.0, error="no answer", model="gpt-test", provider="openai")
            turn.fallback(reason)
            turn.parsed("fold")
            self.outbox.send({"type": "player_action", "action": "fold"})
        return turn


def take(
    turn: Turn,
    outbox: Outbox[Any, None],
    *,
    envelope: str | bytes = ENVELOPE,
    remainder: str | bytes = REMAINDER,
    knowledge: Mapping[str, object] | None = None,
    response: str | bytes = '{"action": "raise", "amount": 120}',
    reasoning: str | None = None,
    parsed: tuple[str, Amount] = ("raise", 120),
    sent: Mapping[str, object] | None = None,
    **answer: Any,
) -> None:
    """Do what an agent does in a turn: know, be told, answer, send."""
    turn.knows(**(knowledge if knowledge is not None else {"state": {"pot": 140}, "actionLog": []}))
    turn.prompt(envelope, remainder)
    facts: dict[str, Any] = {
        "model": "gpt-test",
        "provider": "openai",
        "cost_micros": 4_100,
        "latency_ms": 1_900.0,
    }
    turn.response(response, reasoning=reasoning, **(facts | answer))
    turn.parsed(*parsed)
    message = sent if sent is not None else {"action": parsed[0], "amount": parsed[1]}
    outbox.send({"type": "player_action", "agentToken": "tok-c0ffee-c0ffee", **message})


def seat(agent_id: str = "river-rat", **where: Any) -> Seat:
    """A seat whose turns go to the server's own buffer."""
    client = redis_client(get_redis_connection("capture"), ttl_seconds=settings.CAPTURE_TTL_SECONDS)
    return Seat(client, agent_id, **where)


def play(at: Seat, action_index: int, **options: Any) -> Turn:
    """Take a turn and charge it, as a platform does once the messages have left."""
    turn = at.play(action_index, **options)
    record_charges([turn.charge()])
    return turn


def fall_back(at: Seat, action_index: int, reason: str = "timeout") -> Turn:
    """Fall back and charge it."""
    turn = at.fall_back(action_index, reason)
    record_charges([turn.charge()])
    return turn
