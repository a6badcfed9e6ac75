"""How the recorders that write to Redis themselves reach it, and under which keys."""

from importlib import import_module
from typing import Any, Final

from bench.workload import AGENT, TABLE

TTL: Final = 86_400


def redis_client(url: str) -> Any:
    """A client that does not retry: redis-py's own retries would hold the thread for seconds."""
    retry = import_module("redis.retry").Retry(import_module("redis.backoff").NoBackoff(), 0)
    client = import_module("redis").Redis
    return client.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5, retry=retry, protocol=2)


def store(pipe: Any, hand: int, action_index: int, record: bytes) -> None:
    """The turn, and the set of its hand."""
    place = f"{TABLE}:{hand}:{AGENT}"
    pipe.set(f"turn:{place}:{action_index}", record, ex=TTL)
    pipe.sadd(f"hand:{place}", action_index)
    pipe.expire(f"hand:{place}", TTL)
