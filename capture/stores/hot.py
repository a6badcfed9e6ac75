"""What the capture Redis says of itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

from django_redis import get_redis_connection
from redis.exceptions import AuthenticationError, BusyLoadingError, NoPermissionError, RedisError

from capture.limits import FOREIGN_KEY_SAMPLE
from capture.stores.asking import Silence, StoreSilent, ahead_of_here

Answer = TypeVar("Answer")

_OURS: Final = (b"turn:", b"hand:", b"agents:", b"env:", b"dict:", b"run:", b"runs:", b"run-agents", b"art:")


@dataclass(frozen=True, slots=True)
class RedisFacts:
    """What a Redis says of itself. Memory in bytes; ``evicted`` and ``expired`` count since it started."""

    version: str
    is_cluster: bool
    is_replica: bool
    is_loading: bool
    policy: str
    maxmemory: int
    used_memory: int
    evicted: int
    expired: int
    keys: int
    keys_without_ttl: int

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Self:
        """Read the answer to INFO, of Redis or Valkey."""
        databases = [value for name, value in info.items() if name.startswith("db") and name[2:].isdigit()]
        return cls(
            version=str(info.get("redis_version", "0")),
            is_cluster="cluster" in (info.get("redis_mode"), info.get("server_mode")),
            is_replica=info.get("role") == "slave",
            is_loading=bool(info.get("loading")),
            policy=str(info.get("maxmemory_policy", "unknown")),
            maxmemory=int(info.get("maxmemory", 0)),
            used_memory=int(info.get("used_memory", 0)),
            evicted=int(info.get("evicted_keys", 0)),
            expired=int(info.get("expired_keys", 0)),
            keys=sum(each["keys"] for each in databases),
            keys_without_ttl=sum(each["keys"] - each["expires"] for each in databases),
        )


def redis_facts() -> RedisFacts:
    """Ask the capture Redis. Raises StoreSilent."""
    return RedisFacts.of(_redis(lambda redis: redis.info()))


def redis_answers() -> None:
    """Return when the capture Redis answers. Raises StoreSilent."""
    _redis(lambda redis: redis.ping())


def foreign_keys() -> tuple[int, int]:
    """How many of a sample of keys are no capture's, and how large the sample was. Raises StoreSilent."""

    def sample(redis: Any) -> set[bytes]:
        _, found = redis.scan(count=FOREIGN_KEY_SAMPLE)
        with redis.pipeline(transaction=False) as pipe:
            for _ in range(FOREIGN_KEY_SAMPLE // 10):
                pipe.randomkey()
            return {key for key in (*found, *pipe.execute()) if key is not None}

    keys = _redis(sample)
    return sum(not key.startswith(_OURS) for key in keys), len(keys)


def redis_clock_ahead() -> float:
    """Seconds by which the capture Redis's clock is ahead of this machine's. Raises StoreSilent."""
    return ahead_of_here(lambda: _redis(lambda redis: float("{}.{:06}".format(*redis.time()))))


def _redis(ask: Callable[[Any], Answer]) -> Answer:
    try:
        return ask(get_redis_connection("capture"))
    except (AuthenticationError, NoPermissionError) as exc:
        raise StoreSilent(Silence.REFUSED, type(exc).__name__) from exc
    except BusyLoadingError as exc:
        raise StoreSilent(Silence.LOADING, type(exc).__name__) from exc
    except RedisError as exc:
        raise StoreSilent(Silence.UNREACHABLE, type(exc).__name__) from exc
