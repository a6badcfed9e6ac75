"""How long the server takes to give a hand."""

import json
from collections.abc import Mapping
from typing import Final

from redis import Redis

from bench.clients import Request, ask, charge, get, promote, send_all
from bench.jobs import Result
from bench.playing import LONG, TABLE, fill, prompt_bytes
from bench.rounds import good, results, rounds, timed
from bench.site import ELSEWHERE, Site, site
from bench.table import Part, counts

BUFFER: Final = "hand, from the buffer"
PINNED: Final = "hand, pinned"
SHORT: Final = "hand of 3 turns, from the buffer"
_AGENTS: Final = 6
_LIVE_HAND, _PINNED_HAND, _SHORT_HAND = 1, 2, 3
_ONE: Final = f"hand?tableId={TABLE}&agentId=agent-0&handNumber="
_ALL: Final = f"hand-all?tableId={TABLE}&handNumber="
# Each with its request, the turns that its answer must hold, and how often it is asked.
_READS: Final[Mapping[str, tuple[Request, int, int]]] = {
    BUFFER: (get(f"{_ONE}{_LIVE_HAND}"), LONG, 60),
    PINNED: (get(f"{_ONE}{_PINNED_HAND}"), LONG, 60),
    "hand-all, from the buffer": (get(f"{_ALL}{_LIVE_HAND}"), LONG * _AGENTS, 20),
    "hand-all, pinned": (get(f"{_ALL}{_PINNED_HAND}"), LONG * _AGENTS, 20),
    SHORT: (get(f"{_ONE}{_SHORT_HAND}"), 3, 60),
}


def measure(reps: int) -> Part:
    """Every read once a repetition, beginning with another one each time, all of one server."""
    with site() as server:
        _prepare(server)
        every = rounds(list(_READS), reps, lambda name: _read(server, name))
    return Part(
        title=f"Reading a hand: {LONG} turns, prompts of {prompt_bytes():,} B, {reps} repetitions",
        headers=("over HTTP", "p50 ms", "p99 ms", "turns", "answer KB"),
        rows=[_row(name, good(every, name)) for name in _READS],
        notes=(
            "one client, one kept connection on loopback, from the request's first byte to the answer's last; "
            f"hand-all is of {_AGENTS} agents",
            "pinned: kept, and then gone from the buffer",
            f"{ELSEWHERE}: about three turns took Phoenix 35 ms on Postgres, MLflow 112 ms on SQLite (p50)",
        ),
        results=results(every),
    )


def _prepare(server: Site) -> None:
    """One hand is pinned and gone from the buffer, the others are in it; every answer is as it should be."""
    charge(server, fill(server.buffer_url, [_PINNED_HAND], agents=_AGENTS))
    send_all(server, [promote(TABLE, _PINNED_HAND, f"agent-{each}") for each in range(_AGENTS)])
    with Redis.from_url(server.buffer_url) as buffer:
        buffer.flushall()
    charge(server, fill(server.buffer_url, [_LIVE_HAND], agents=_AGENTS))
    charge(server, fill(server.buffer_url, [_SHORT_HAND], agents=1, turns=3))
    answers = send_all(server, [request for request, _, _ in _READS.values()])
    for (name, (_, turns, _)), answer in zip(_READS.items(), answers, strict=True):
        found = [each["promptStatus"] for each in json.loads(answer)["turns"]]
        if found != ["verified"] * turns:
            raise RuntimeError(
                f"{name}: {turns} verified turns were expected, {len(found)} came: {set(found)}"
            )


def _read(server: Site, name: str) -> Result:
    request, _, times = _READS[name]
    return ask(server, name, [request] * (times + 10))


def _row(name: str, mine: list[Result]) -> tuple[str, ...]:
    return name, *timed(mine), f"{_READS[name][1]:,}", counts(each.size / 1_000 for each in mine)
