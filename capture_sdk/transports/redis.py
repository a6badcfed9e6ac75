"""The Redis transport: the one writer of the buffer's keys. One server, a Sentinel's master, or a cluster.

TTL rule: a key that others need outlives them. For each batch the order is blobs, turns or events, sets, and the
blobs are renewed once more behind the turns, so that no turn outlives what it needs. Shared keys are renewed by a
script that only ever lengthens a TTL: atomic, with commands of Redis 6.2 (which has no ``EXPIRE .. GT``), and one
key per call, so that it works on a cluster.
"""

import ctypes
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from capture_sdk.config import SPREAD_SCHEMES, Config, SpreadUrl, spread_hosts
from capture_sdk.errors import TransportError
from capture_sdk.keys import agents_key, hand_key, turn_key
from capture_sdk.runs.records import RunKey
from capture_sdk.transports import BLOB_NEEDED, Blob, EventParcel, Parcel, Refusal
from capture_sdk.transports.run_writes import (
    ADD_EVENTS,
    MARK_ACTIVE,
    Command,
    event_writes,
    renewals_of,
)

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
    """Writes parcels through a redis-py client, or a django-redis raw one; ``ttl_seconds`` for every key.

    ``client`` may be a function that makes one, for those that connect when they are made.
    """

    takes_dictionaries = True

    def __init__(self, client: "Redis | Callable[[], Redis]", *, ttl_seconds: int) -> None:
        self._make = client if callable(client) else None
        self._client: Any = None if callable(client) else client
        self._ttl_ms = ttl_seconds * 1_000

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Clients of its own with bounded timeouts and no retries (delivery does the retrying)."""
        url = config.redis_url or ""
        scheme = url.partition("://")[0]
        if scheme not in SPREAD_SCHEMES:
            from redis import Redis

            Redis.from_url(url, protocol=2)  # a URL that redis-py cannot read is an error at start
            return cls(
                lambda: Redis.from_url(url, protocol=2, **_bounds(config)), ttl_seconds=config.ttl_seconds
            )
        spread = spread_hosts(url)
        make = _sentinel if scheme.endswith("sentinel") else _cluster
        return cls(lambda: make(spread, config), ttl_seconds=config.ttl_seconds)

    def write(self, parcels: Sequence[Parcel]) -> list[Refusal]:
        """Write blobs, turns and sets; send again the blobs that had gone."""
        from redis.exceptions import RedisError

        blobs = _distinct(parcels)
        try:
            lacking = self._send_gone(blobs.values(), self._run(list(self._renewals(blobs.values()))))
            commands = [*self._writes(parcels, lacking), *self._renewals(blobs.values())]
            answers = self._run(commands)
            lacking |= self._send_gone(blobs.values(), answers[len(answers) - len(blobs) :])
        except (RedisError, OSError) as exc:
            raise TransportError(type(exc).__name__) from exc
        return list(_refusals(parcels, lacking, commands, answers))

    def write_events(self, parcels: Sequence[EventParcel]) -> list[Refusal]:
        """Write artifacts, runs and the sets that name them; send again the artifacts that had gone."""
        from redis.exceptions import RedisError

        blobs = _distinct(parcels)
        try:
            lacking = self._send_gone(blobs.values(), self._run(list(self._renewals(blobs.values()))))
            writes = list(event_writes(parcels, lacking, self._ttl_ms))
            commands = [*(command for _, command in writes), *self._renewals(blobs.values())]
            answers = self._run(commands)
            lacking |= self._send_gone(blobs.values(), answers[len(answers) - len(blobs) :])
            runs = [(run, due) for (run, _), due in zip(writes, answers, strict=False) if run is not None]
            self._run([each for run, due in runs for each in self._due(run, due)])
        except (RedisError, OSError) as exc:
            raise TransportError(type(exc).__name__) from exc
        return list(_refusals(parcels, lacking, commands, answers))

    def _due(self, run: RunKey, artifacts: object) -> Iterator[Command]:
        if isinstance(artifacts, list) and artifacts:
            yield from renewals_of(run, artifacts, _RENEW, self._ttl_ms)

    def close(self) -> None:
        """Close the connection pool."""
        if self._client is not None:
            self._client.close()
        if self._make is not None:
            self._client = None

    def forked(self) -> None:
        """Make another client; one that was given knows by itself that it is in another process."""
        if self._make is not None and self._client is not None:
            # What a client does when it is thrown away, at the latest when the interpreter ends, may wait for a
            # lock that a thread of the parent held at the fork, and that nobody here will ever release.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._client))
            self._client = None

    def _redis(self) -> Any:
        if self._client is None and self._make is not None:
            self._client = self._make()
        return self._client

    def _renewals(self, blobs: Iterable[Blob]) -> Iterator[Command]:
        for blob in blobs:
            yield (_RENEW, blob.key, self._ttl_ms), ()

    def _send_gone(self, blobs: Iterable[Blob], renewed: Sequence[object]) -> dict[str, str]:
        """Store the blobs that the buffer no longer has; returns the keys of those it has not even then, and why."""
        lacking: dict[str, str] = {}
        known: list[Blob] = []
        for blob, answer in zip(blobs, renewed, strict=True):
            if isinstance(answer, Exception):
                lacking[blob.key] = _reason(answer)
            elif answer == 0 and blob.data is None:
                lacking[blob.key] = BLOB_NEEDED
            elif answer == 0:
                known.append(blob)
        answers = self._run([(("SET", blob.key, blob.data, "PX", self._ttl_ms), ()) for blob in known])
        for blob, answer in zip(known, answers, strict=True):
            if isinstance(answer, Exception):
                lacking[blob.key] = _reason(answer)
        return lacking

    def _writes(self, parcels: Sequence[Parcel], lacking: Mapping[str, str]) -> Iterator[Command]:
        """Each turn that can be read back, and the two sets of each hand that the batch touches."""
        hands: dict[str, tuple[list[int], list[object]]] = {}
        agents: dict[str, tuple[list[int], list[object]]] = {}
        for place, parcel in enumerate(parcels):
            if any(blob.key in lacking for blob in parcel.blobs):
                continue
            key = parcel.key
            name = turn_key(key.table_id, key.hand_number, key.agent_id, key.action_index)
            yield ("SET", name, parcel.record, "PX", self._ttl_ms), (place,)
            for sets, set_name, member in (
                (hands, hand_key(key.table_id, key.hand_number, key.agent_id), key.action_index),
                (agents, agents_key(key.table_id, key.hand_number), key.agent_id),
            ):
                places, members = sets.setdefault(set_name, ([], []))
                places.append(place)
                members.append(member)
        for set_name, (places, members) in (*hands.items(), *agents.items()):
            yield (_ADD, set_name, self._ttl_ms, *dict.fromkeys(members)), tuple(places)

    def _run(self, commands: Sequence[Command]) -> list[Any]:
        """Run commands in one pipeline; an answer that is an error belongs to its own command alone.

        Scripts go by their hash. A server that does not know one yet is told once, and the batch is repeated:
        writing twice is the same as once.
        """
        if not commands:
            return []
        from redis.exceptions import NoScriptError

        answers = self._pipeline(commands, by_hash=True)
        if any(isinstance(answer, NoScriptError) for answer in answers):
            answers = self._pipeline(commands, by_hash=False)
        return answers

    def _pipeline(self, commands: Sequence[Command], *, by_hash: bool) -> list[Any]:
        with self._redis().pipeline(transaction=False) as pipe:
            for command, _ in commands:
                verb, *rest = command
                if verb not in _HASHES:
                    pipe.execute_command(*command)
                elif by_hash:
                    pipe.execute_command("EVALSHA", _HASHES[verb], 1, *rest)
                else:
                    pipe.execute_command("EVAL", verb, 1, *rest)
            answers: list[Any] = pipe.execute(raise_on_error=False)
        return answers


_HASHES: Final[dict[object, str]] = {
    script: hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
    for script in (_RENEW, _ADD, ADD_EVENTS, MARK_ACTIVE)
}


def _distinct(parcels: Sequence[Parcel | EventParcel]) -> dict[str, Blob]:
    """The blobs of a batch by key; of two of one key, the one that has its bytes."""
    blobs: dict[str, Blob] = {}
    for blob in (blob for parcel in parcels for blob in parcel.blobs):
        if blob.data is not None or blob.key not in blobs:
            blobs[blob.key] = blob
    return blobs


def _refusals(
    parcels: Sequence[Parcel | EventParcel],
    lacking: Mapping[str, str],
    commands: Sequence[Command],
    answers: Sequence[object],
) -> Iterator[Refusal]:
    refused = {
        place: lacking[blob.key]
        for place, parcel in enumerate(parcels)
        for blob in parcel.blobs
        if blob.key in lacking
    }
    for (_, places), answer in zip(commands, answers, strict=True):
        if isinstance(answer, Exception):
            for place in places:
                refused.setdefault(place, _reason(answer))
    for place, reason in sorted(refused.items()):
        yield Refusal(place, reason, retryable=True)


def _reason(error: Exception) -> str:
    """One word: what Redis calls it where it is one of its own (``OOM``, ``READONLY``), else its class."""
    word = str(error).partition(" ")[0]
    return word if word.isupper() and len(word) < 20 else type(error).__name__


def _bounds(config: Config) -> dict[str, Any]:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return {
        "socket_connect_timeout": config.connect_timeout,
        "socket_timeout": config.write_timeout,
        "retry": Retry(NoBackoff(), 0),
    }


def _sentinel(spread: SpreadUrl, config: Config) -> "Redis":
    from redis import sentinel

    known: Any = sentinel.Sentinel  # its types are not told
    login = {"username": spread.username, "password": spread.password, "ssl": spread.tls}
    watched = known(spread.hosts, sentinel_kwargs=_bounds(config), **_bounds(config), **login)
    master: Redis = watched.master_for(spread.service or "", db=spread.db, protocol=2)
    return master


def _cluster(spread: SpreadUrl, config: Config) -> "Redis":
    from redis import cluster

    node: Any = cluster.ClusterNode
    connect: Any = cluster.RedisCluster
    login = {"username": spread.username, "password": spread.password, "ssl": spread.tls}
    nodes = [node(host, port) for host, port in spread.hosts]
    connected: Redis = connect(startup_nodes=nodes, protocol=2, **_bounds(config), **login)
    return connected
