"""Reads of the hot buffer: it answers with records, never with Redis replies.

An agent's read touches that agent's keys only. A buffer that cannot be reached raises
``BufferUnavailable``; something that is not in it is simply not in the answer.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial
from typing import Any, Self

from django.conf import settings
from django_redis import get_redis_connection
from redis.exceptions import RedisError

from capture.limits import BUFFER_CHUNK_TURNS
from capture_sdk.codec import Fields, build, dictionary_hash, envelope_hash, fields_of, unframe
from capture_sdk.errors import RecordError
from capture_sdk.keys import agents_key, dictionary_key, envelope_key, hand_key, turn_key
from capture_sdk.records import TurnKey, TurnRecord
from capture_sdk.transports.redis import RedisTransport


class BufferUnavailable(Exception):
    """The buffer did not answer, so nothing can be said about what it holds."""


@dataclass(frozen=True, slots=True)
class BufferedTurn:
    """One turn as the buffer holds it. ``record`` is None when its bytes do not read as a record.

    ``raw`` is what is stored, ``ttl_ms`` the milliseconds it has left. ``dictionary`` is the stored one that ``raw``
    needs; where it has gone, ``needs`` is its hash, and nothing of the turn can be read.
    """

    agent_id: str
    action_index: int
    raw: bytes
    record: TurnRecord | None
    ttl_ms: int
    dictionary: bytes | None = None
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class AgentLife:
    """How much of one agent's hand is in the buffer: which action indexes, and for how long at most."""

    indexes: frozenset[int]
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class HandLife:
    """How much of one hand is in the buffer: how many turns, and for how long at most."""

    turns: int
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class _Stored:
    """A turn's bytes and the map within them, before its envelope is there; empty where it cannot be read."""

    where: TurnKey
    raw: bytes
    ttl_ms: int
    dictionary: bytes | None = None
    fields: Fields = field(default_factory=dict)
    needs: str | None = None


class Buffer:
    """The capture Redis, read side."""

    def __init__(self, client: Any) -> None:
        self._redis = client

    @classmethod
    def connect(cls) -> Self:
        """The buffer that the settings name. Opens no connection yet."""
        return cls(get_redis_connection("capture"))

    @staticmethod
    def writer() -> RedisTransport:
        """The SDK's own writer, on the server's connections: no second one knows the keys and their TTL rule."""
        return RedisTransport(get_redis_connection("capture"), ttl_seconds=settings.CAPTURE_TTL_SECONDS)

    def agents(self, table_id: str, hand_number: int) -> set[str]:
        """Every agent that has captured a turn in the hand (the operator's fan-out)."""
        members = self._ask([("smembers", agents_key(table_id, hand_number))])[0]
        return {member.decode() for member in members}

    def turns(self, table_id: str, hand_number: int, *, agent_id: str) -> list[BufferedTurn]:
        """One agent's turns of a hand, envelopes put back, by action index."""
        return self._turns(table_id, hand_number, agent_id, self._indexes(table_id, hand_number, agent_id))

    def turn(self, key: TurnKey) -> list[BufferedTurn]:
        """The one turn of this key, if it is there: a hand of large prompts is not read for one of them."""
        return self._turns(key.table_id, key.hand_number, key.agent_id, [key.action_index])

    def _turns(
        self, table_id: str, hand_number: int, agent_id: str, indexes: list[int]
    ) -> list[BufferedTurn]:
        found: list[_Stored] = []
        for start in range(0, len(indexes), BUFFER_CHUNK_TURNS):
            found += self._read(table_id, hand_number, agent_id, indexes[start : start + BUFFER_CHUNK_TURNS])
        envelopes = self.envelopes(hash_ for turn in found if (hash_ := envelope_hash(turn.fields)))
        return [_turn(turn, envelopes) for turn in found]

    def records(self, keys: Sequence[TurnKey]) -> list[TurnRecord]:
        """The records of these turns that are there and can be read, of any hands, without their envelopes."""
        raws = self._ask([("get", turn_key(*astuple(key))) for key in keys])
        needed = {needs for raw in raws if raw is not None and (needs := dictionary_hash(raw))}
        dictionaries = self._blobs(sorted(needed), dictionary_key)
        stored = [
            _open(key, raw, 0, dictionaries) for key, raw in zip(keys, raws, strict=True) if raw is not None
        ]
        return [record for each in stored if (record := _turn(each, {}).record) is not None]

    def count_envelopes(self, at_most: int) -> tuple[int, bool]:
        """How many envelopes there are, as far as so many keys tell; the second value is whether these were all."""
        try:
            cursor, seen, found = 0, 0, 0
            while True:
                cursor, keys = self._redis.scan(cursor, count=1_000)
                seen, found = seen + len(keys), found + sum(key.startswith(b"env:") for key in keys)
                if not cursor or seen >= at_most:
                    return found, not cursor
        except RedisError as exc:
            raise BufferUnavailable(type(exc).__name__) from exc

    def envelopes(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """The envelopes of these hashes that are still there."""
        wanted = sorted(set(hashes))
        return self._blobs(wanted, envelope_key)

    def lives(self, hands: Mapping[tuple[str, int], Sequence[str]]) -> dict[tuple[str, int, str], AgentLife]:
        """For each hand and agent, what is still in the buffer and how long it has left."""
        seats = [(table, hand, agent) for (table, hand), agents in hands.items() for agent in agents]
        sets = self._ask([("smembers", hand_key(*seat)) for seat in seats])
        turns = [(seat, int(member)) for seat, members in zip(seats, sets, strict=True) for member in members]
        ttls = self._ask([("pttl", turn_key(*seat, index)) for seat, index in turns])
        found: dict[tuple[str, int, str], dict[int, int]] = {}
        for (seat, index), ttl in zip(turns, ttls, strict=True):
            if ttl > 0:
                found.setdefault(seat, {})[index] = ttl
        return {seat: AgentLife(frozenset(left), max(left.values())) for seat, left in found.items()}

    def hand_lives(self, hands: Mapping[tuple[str, int], Sequence[str]]) -> dict[tuple[str, int], HandLife]:
        """For each hand, played by these agents, what is left of it. A page of hands asks for nothing turn by turn.

        The time left is that of the hand's set of agents, which every turn renews.
        """
        seats = [(*hand, agent) for hand, agents in hands.items() for agent in agents]
        sets = self._ask([("smembers", hand_key(*seat)) for seat in seats])
        filled = [(seat, members) for seat, members in zip(seats, sets, strict=True) if members]
        there = self._ask(
            [("exists", *(turn_key(*seat, int(each)) for each in members)) for seat, members in filled]
        )
        turns: Counter[tuple[str, int]] = Counter()
        for ((table, hand, _), _), count in zip(filled, there, strict=True):
            turns[table, hand] += count
        live = [hand for hand, count in turns.items() if count]
        ttls = self._ask([("pttl", agents_key(*hand)) for hand in live])
        return {hand: HandLife(turns[hand], max(ttl, 0)) for hand, ttl in zip(live, ttls, strict=True)}

    def _indexes(self, table_id: str, hand_number: int, agent_id: str) -> list[int]:
        members = self._ask([("smembers", hand_key(table_id, hand_number, agent_id))])[0]
        return sorted(int(member) for member in members)

    def _read(self, table_id: str, hand_number: int, agent_id: str, indexes: list[int]) -> list[_Stored]:
        where = partial(TurnKey, table_id, hand_number, agent_id)
        keys = [turn_key(table_id, hand_number, agent_id, index) for index in indexes]
        answers = self._ask([(verb, key) for key in keys for verb in ("get", "pttl")])
        needed = {needs for raw in answers[0::2] if raw is not None and (needs := dictionary_hash(raw))}
        dictionaries = self._blobs(sorted(needed), dictionary_key)
        return [
            _open(where(index), raw, max(ttl, 0), dictionaries)
            for index, raw, ttl in zip(indexes, answers[0::2], answers[1::2], strict=True)
            if raw is not None
        ]

    def _blobs(self, hashes: Sequence[str], key: Callable[[str], str]) -> dict[str, bytes]:
        """The shared bytes of these hashes that are still there."""
        bodies = self._ask([("get", key(each)) for each in hashes])
        return {each: body for each, body in zip(hashes, bodies, strict=True) if body is not None}

    def _ask(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if not commands:
            return []
        try:
            with self._redis.pipeline(transaction=False) as pipe:
                for verb, *keys in commands:
                    getattr(pipe, verb)(*keys)
                answers: list[Any] = pipe.execute()
        except RedisError as exc:
            raise BufferUnavailable(type(exc).__name__) from exc
        return answers


def _open(where: TurnKey, raw: bytes, ttl_ms: int, dictionaries: Mapping[str, bytes]) -> _Stored:
    """The map within the stored bytes, as far as it can be read."""
    needs = dictionary_hash(raw)
    dictionary = None if needs is None else dictionaries.get(needs)
    if needs is not None and dictionary is None:
        return _Stored(where, raw, ttl_ms, needs=needs)
    try:
        return _Stored(where, raw, ttl_ms, dictionary, fields_of(unframe(raw, dictionary)))
    except RecordError:
        return _Stored(where, raw, ttl_ms)


def _turn(stored: _Stored, envelopes: Mapping[str, bytes]) -> BufferedTurn:
    """The turn, if its bytes are a record that says that it belongs where it was found."""
    where = stored.where
    try:
        record = build(stored.fields, envelopes.get(envelope_hash(stored.fields) or ""))
        found = record if record.key == where else None
    except RecordError:
        found = None
    return BufferedTurn(
        where.agent_id, where.action_index, stored.raw, found, stored.ttl_ms, stored.dictionary, stored.needs
    )
