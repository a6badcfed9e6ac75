"""What the two stores say of themselves: version, memory, clock, migrations. Nothing of what they hold.

For probes, figures, checks and the doctor. A store that does not answer raises ``StoreSilent``, whose text names
neither address nor password.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Self, TypeVar

from django.db import DatabaseError, InterfaceError, connection, connections
from django.db.migrations.loader import MigrationLoader
from django_redis import get_redis_connection
from redis.exceptions import AuthenticationError, BusyLoadingError, NoPermissionError, RedisError

from capture.limits import FOREIGN_KEY_SAMPLE, STORE_ANSWER_SECONDS, STORE_ASKERS

Answer = TypeVar("Answer")

_OURS: Final = (b"turn:", b"hand:", b"agents:", b"env:", b"dict:")
_askers: Final = threading.BoundedSemaphore(STORE_ASKERS)


class Silence(StrEnum):
    """Why a store gave no answer."""

    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # it wants a password, or another one
    LOADING = "loading"
    TOO_SLOW = "too_slow"


class StoreSilent(Exception):
    """A store gave no answer; ``kind`` is the name of the error that its client raised."""

    def __init__(self, why: Silence, kind: str) -> None:
        super().__init__(f"{why} ({kind})")
        self.why, self.kind = why, kind


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
    return _ahead(lambda: _redis(lambda redis: float("{}.{:06}".format(*redis.time()))))


def postgres_clock_ahead() -> float:
    """Seconds by which Postgres's clock is ahead of this machine's. Raises StoreSilent."""
    return _ahead(lambda: float(_row("SELECT extract(epoch FROM clock_timestamp())")[0]))


def postgres_version() -> int:
    """Postgres's version as a number: 180001 is 18.1. Raises StoreSilent."""
    return int(_row("SELECT current_setting('server_version_num')")[0])


def postgres_answers() -> None:
    """Return when Postgres answers. Raises StoreSilent."""
    _row("SELECT 1")


def missing_migrations() -> list[str]:
    """The migrations that the code has and Postgres has not. Raises StoreSilent."""

    def look() -> list[str]:
        loader = MigrationLoader(connection)
        missing = loader.graph.nodes.keys() - (loader.applied_migrations or {}).keys()
        return sorted(f"{app}.{name}" for app, name in missing)

    return _postgres(look)


def keys_in_force() -> int:
    """How many service keys made by command are neither revoked nor expired. Raises StoreSilent."""
    return int(_row(_KEYS_IN_FORCE)[0])


def hands_out_of_step(sample: int) -> int:
    """How many of the newest hands differ from the ledger, newest charges without a hand included.

    Raises StoreSilent.
    """
    differing, lacking = _row(_OUT_OF_STEP, [sample, sample])
    return int(differing) + int(lacking)


_KEYS_IN_FORCE: Final = """
SELECT count(*) FROM agent_service_keys
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
"""
# The unique index of the ledger begins with table and hand, so each of the two costs ``sample`` look-ups.
_OUT_OF_STEP: Final = """
SELECT
    (SELECT count(*) FROM (SELECT * FROM agent_hands ORDER BY id DESC LIMIT %s) AS hand
     CROSS JOIN LATERAL (
         SELECT count(*) FILTER (WHERE NOT is_fallback) AS turns, count(*) FILTER (WHERE is_fallback) AS fallbacks
         FROM agent_inference_charges AS charge
         WHERE charge.table_id = hand.table_id AND charge.hand_number = hand.hand_number
     ) AS ledger
     WHERE (hand.turns, hand.fallbacks) <> (ledger.turns, ledger.fallbacks)),
    (SELECT count(*) FROM (SELECT * FROM agent_inference_charges ORDER BY id DESC LIMIT %s) AS charge
     WHERE NOT EXISTS (SELECT FROM agent_hands AS hand
                       WHERE hand.table_id = charge.table_id AND hand.hand_number = charge.hand_number))
"""


def within(ask: Callable[[], Answer], seconds: float = STORE_ANSWER_SECONDS) -> Answer:
    """``ask()``, or StoreSilent when it takes longer, whatever the store does."""
    return begin(ask)(seconds)


def begin(ask: Callable[[], Answer]) -> Callable[[float], Answer]:
    """Ask on a thread with connections of its own; what comes back waits so many seconds for the answer.

    A store that never answers holds a bounded number of threads. When all are held, the next to ask gets
    StoreSilent at once.
    """
    if not _askers.acquire(blocking=False):
        raise StoreSilent(Silence.TOO_SLOW, "earlier questions still wait")
    answers: SimpleQueue[Answer | StoreSilent] = SimpleQueue()

    def run() -> None:
        try:
            answers.put(ask())
        except StoreSilent as exc:
            answers.put(exc)
        finally:
            connections.close_all()
            _askers.release()

    threading.Thread(target=run, name="store-asker", daemon=True).start()
    return partial(_answer, answers)


def _answer(answers: "SimpleQueue[Answer | StoreSilent]", seconds: float) -> Answer:
    try:
        answer = answers.get(timeout=max(seconds, 0))
    except Empty:
        raise StoreSilent(Silence.TOO_SLOW, "no answer in time") from None
    if isinstance(answer, StoreSilent):
        raise answer
    return answer


def _redis(ask: Callable[[Any], Answer]) -> Answer:
    try:
        return ask(get_redis_connection("capture"))
    except (AuthenticationError, NoPermissionError) as exc:
        raise StoreSilent(Silence.REFUSED, type(exc).__name__) from exc
    except BusyLoadingError as exc:
        raise StoreSilent(Silence.LOADING, type(exc).__name__) from exc
    except RedisError as exc:
        raise StoreSilent(Silence.UNREACHABLE, type(exc).__name__) from exc


def _postgres(ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except (DatabaseError, InterfaceError) as exc:
        raise StoreSilent(Silence.UNREACHABLE, type(exc).__name__) from exc


def _row(statement: str, parameters: list[int] | None = None) -> tuple[Any, ...]:
    def ask() -> tuple[Any, ...]:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            row: tuple[Any, ...] = cursor.fetchone() or ()
            return row

    return _postgres(ask)


def _ahead(clock: Callable[[], float]) -> float:
    """Compared with the middle of the time that asking took."""
    before = time.time()
    there = clock()
    return there - (before + time.time()) / 2
