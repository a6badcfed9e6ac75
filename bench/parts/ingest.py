"""How many turns and charges a second the server takes by HTTP."""

from collections.abc import Mapping
from itertools import chain
from typing import Final, Literal, NamedTuple

from redis import Redis

from bench.clients import load
from bench.jobs import Load, Result
from bench.post import BATCH
from bench.site import DISK, ELSEWHERE, WORKERS, Site, site
from bench.table import NONE, Part, counts, millis

IDENTITY, GZIP = "turns, identity", "turns, gzip"
_CLIENTS: Final = 4


class _Kind(NamedTuple):
    """What the clients post, how often, and whether they charge hands that the others charge too."""

    kind: Literal["turns", "charges"]
    encoding: Literal["identity", "gzip"]
    batches: int
    is_shared: bool = True


_KINDS: Final[Mapping[str, _Kind]] = {
    IDENTITY: _Kind("turns", "identity", 30),
    GZIP: _Kind("turns", "gzip", 30),
    "charges, a table a client": _Kind("charges", "gzip", 20, is_shared=False),
    "charges, all of one table": _Kind("charges", "gzip", 20),
}


def measure(reps: int) -> Part:
    """Every kind once a repetition, all into one server; the buffer is emptied before each."""
    rounds: list[dict[str, tuple[Result, float]]] = []
    with site() as server:
        for rep in range(reps):
            rounds.append({name: _post(server, name, rep) for name in _KINDS})
    return Part(
        title=f"Ingest by HTTP: {WORKERS} workers, {_CLIENTS} clients, batches of {BATCH}, {reps} repetitions",
        headers=("posted", "a second", "a batch, p50 ms", "body B each", "buffer B a turn"),
        rows=[_row(name, rounds) for name in _KINDS],
        notes=(
            "as the SDK's HTTP transport posts: records that stand alone, envelopes by their hashes; every item new, "
            "the bodies made beforehand, so that the clients leave the processors to the server",
            f"the clients are agents of one table, who charge the same hands; {DISK}",
            f"{ELSEWHERE}: Phoenix took 86 turns a second on Postgres, MLflow 36 on SQLite",
        ),
        results=[result for result, _ in chain.from_iterable(each.values() for each in rounds)],
    )


def _post(server: Site, name: str, rep: int) -> tuple[Result, float]:
    """One kind; with it the buffer's bytes a turn."""
    what = _KINDS[name]
    with Redis.from_url(server.buffer_url) as buffer:
        buffer.execute_command("FLUSHALL", "SYNC")  # else the old turns' memory goes while the new ones come
        before = int(buffer.info("memory")["used_memory"])
        loads = [_load(server, name, rep, client) for client in range(_CLIENTS)]
        result = load(loads)
        held = int(buffer.info("memory")["used_memory"]) - before
    return result, held / (what.batches * BATCH * _CLIENTS)


def _load(server: Site, name: str, rep: int, client: int) -> Load:
    what = _KINDS[name]
    return Load(
        name=name,
        port=server.port,
        headers=server.headers,
        kind=what.kind,
        encoding=what.encoding,
        table=f"table-{rep}" if what.is_shared else f"table-{rep}-{client}",
        agent=f"agent-{client}",
        batches=what.batches,
    )


def _row(name: str, rounds: list[dict[str, tuple[Result, float]]]) -> tuple[str, ...]:
    good = [each[name] for each in rounds if each[name][0].error is None]
    return (
        name,
        counts(result.turns_a_second for result, _ in good),
        millis(result.p50 for result, _ in good),
        counts(result.size for result, _ in good),
        counts(held for _, held in good) if _KINDS[name].kind == "turns" else NONE,
    )
