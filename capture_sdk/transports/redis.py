"""The Redis transport: the one writer of the buffer's keys.

TTL rule: a key that others need outlives them. For each turn the order is envelope, turn, sets, and the
envelope is renewed once more behind its turn, so that no turn outlives what it needs. Shared keys are
renewed by a script that only ever lengthens a TTL: atomic, with commands of Redis 6.2 (which has no
``EXPIRE .. GT``), and one key per call, so that it works on a cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self

from capture_sdk.config import Config
from capture_sdk.errors import TransportError
from capture_sdk.keys import agents_key, envelope_key, hand_key, turn_key
from capture_sdk.transports import Parcel, Refusal

if TYPE_CHECKING:
    from redis import Redis

# KEYS[1] is renewed if it exists; the answer is 1, or 0 when it has gone and must be sent again.
_RENEW: Final = """
local left = redis.call('PTTL', KEYS[1])
if left == -2 then return 0 end
if left < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
"""
# KEYS[1] gets the members ARGV[2..] and is renewed in the same breath: it never exists without a TTL.
_ADD: Final = """
redis.call('SADD', KEYS[1], unpack(ARGV, 2))
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
"""


class RedisTransport:
    """Writes parcels through a redis-py client, or a django-redis raw one; ``ttl_seconds`` for every key."""

    def __init__(self, client: "Redis", *, ttl_seconds: int) -> None:
        self._redis = client
        self._ttl_ms = ttl_seconds * 1_000

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Build a client of its own with bounded timeouts and no retries (delivery does the retrying)."""
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        client = Redis.from_url(
            config.redis_url or "",
            socket_connect_timeout=config.connect_timeout,
            socket_timeout=config.write_timeout,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        return cls(client, ttl_seconds=config.ttl_seconds)

    def write(self, parcels: Sequence[Parcel]) -> list[Refusal]:
        """Write envelopes, turns and sets in one pipeline; send again the envelopes that had gone."""
        from redis.exceptions import RedisError

        envelopes = {parcel.env_hash: parcel.envelope for parcel in parcels if parcel.env_hash}
        try:
            self._send_missing(envelopes)
            refusals = list(self._write_turns(parcels))
            self._send_missing(envelopes)
        except RedisError as exc:
            raise TransportError(type(exc).__name__) from exc
        return refusals

    def close(self) -> None:
        """Close the connection pool."""
        self._redis.close()

    def _send_missing(self, envelopes: Mapping[str, bytes | None]) -> None:
        """Renew each envelope, and store those that the buffer no longer has (or never had)."""
        if not envelopes:
            return
        with self._redis.pipeline(transaction=False) as pipe:
            for env_hash in envelopes:
                pipe.eval(_RENEW, 1, envelope_key(env_hash), self._ttl_ms)
            found = pipe.execute()
        gone = [env_hash for env_hash, renewed in zip(envelopes, found, strict=True) if not renewed]
        with self._redis.pipeline(transaction=False) as pipe:
            for env_hash in gone:
                if (envelope := envelopes[env_hash]) is not None:
                    pipe.set(envelope_key(env_hash), envelope, px=self._ttl_ms)
            pipe.execute()

    def _write_turns(self, parcels: Sequence[Parcel]) -> Iterator[Refusal]:
        """One turn and its two sets per parcel; an answer that is an error belongs to that parcel alone."""
        with self._redis.pipeline(transaction=False) as pipe:
            for parcel in parcels:
                key = parcel.key
                pipe.set(
                    turn_key(key.table_id, key.hand_number, key.agent_id, key.action_index),
                    parcel.record,
                    px=self._ttl_ms,
                )
                hand = hand_key(key.table_id, key.hand_number, key.agent_id)
                pipe.eval(_ADD, 1, hand, self._ttl_ms, key.action_index)
                pipe.eval(_ADD, 1, agents_key(key.table_id, key.hand_number), self._ttl_ms, key.agent_id)
            answers = pipe.execute(raise_on_error=False)
        for index in range(len(parcels)):
            errors = [
                answer for answer in answers[3 * index : 3 * index + 3] if isinstance(answer, Exception)
            ]
            if errors:
                yield Refusal(index, type(errors[0]).__name__, retryable=True)
