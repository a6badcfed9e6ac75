"""How long a page of recent hands takes, as the ledger grows."""

import shutil
from collections.abc import Mapping
from typing import Final

import psycopg
from redis import Redis

from bench.clients import ask, get
from bench.jobs import Result
from bench.rounds import timed
from bench.site import DISK, Site, site
from bench.table import NONE, Part, ratios
from capture_sdk.records import TurnKey
from capture_sdk.transports import Parcel
from capture_sdk.transports.redis import RedisTransport

SIZES: Final = (10_000, 1_000_000, 10_000_000)
FIRST, DEEP = "first page", "last page"
_LIMIT: Final = 50
_TIMES: Final = 60
_ROW_BYTES: Final = (
    600  # of disk for a charge: its row, its index, its share of a hand, and the log of writing it
)
_NEWEST: Final = """
SELECT table_id, hand_number, agent_id, action_index FROM agent_inference_charges
WHERE NOT is_fallback AND (table_id, hand_number) IN
      (SELECT table_id, hand_number FROM agent_hands ORDER BY id DESC LIMIT %s)
"""

Measured = Mapping[tuple[int, str], list[Result]]


def measure(reps: int) -> Part:
    """One ledger that grows; at each size both pages, in turn within a repetition."""
    with site() as server:
        free = shutil.disk_usage(server.folder).free
        sizes = [rows for rows in SIZES if rows * _ROW_BYTES < free]
        measured: dict[tuple[int, str], list[Result]] = {}
        for rows in sizes:
            _grow(server, rows)
            paths = {FIRST: f"recent-hands?limit={_LIMIT}", DEEP: _last_page(server)}
            for _ in range(reps):
                for page, path in paths.items():
                    name = f"{page} at {rows:,} rows"
                    result = ask(server, name, [get(path)] * (_TIMES + 10))
                    measured.setdefault((rows, page), []).append(result)
    return Part(
        title=f"Recent hands: {_LIMIT} a page, {reps} repetitions",
        headers=("over HTTP", "ledger rows", "p50 ms", "p99 ms", f": at {SIZES[0]:,}"),
        rows=[_row(rows, page, measured) for rows in SIZES for page in (FIRST, DEEP)],
        notes=(
            "the ledger is seed_ledger's, 25 charges and six agents a hand; the hands of the first page are "
            "all in the buffer, turn by turn, those of the last page are not",
            DISK,
            *(_left_out(rows, free) for rows in SIZES if rows not in sizes),
        ),
        results=[result for results in measured.values() for result in results],
    )


def _grow(server: Site, rows: int) -> None:
    """Seed up to so many rows, and have the newest hands' turns in the buffer."""
    server.manage("seed_ledger", "--rows", str(rows), "--json")
    with psycopg.connect(server.database_url, autocommit=True) as database:
        database.execute("VACUUM agent_hands, agent_inference_charges")  # as autovacuum will have
        keys = [TurnKey(*row) for row in database.execute(_NEWEST, [_LIMIT]).fetchall()]
    with Redis.from_url(server.buffer_url) as buffer:
        buffer.flushall()
        RedisTransport(buffer, ttl_seconds=86_400).write([Parcel(key, b"\x01") for key in keys])


def _last_page(server: Site) -> str:
    with psycopg.connect(server.database_url) as database:
        oldest = (database.execute("SELECT min(id) FROM agent_hands").fetchone() or (0,))[0]
    return f"recent-hands?limit={_LIMIT}&cursor={oldest + _LIMIT}"


def _row(rows: int, page: str, measured: Measured) -> tuple[str, ...]:
    pairs = zip(measured.get((rows, page), []), measured.get((SIZES[0], page), []), strict=False)
    good = [(mine, small) for mine, small in pairs if mine.error is None and small.error is None]
    if not good:
        return page, f"{rows:,}", NONE, NONE, NONE
    return (
        page,
        f"{rows:,}",
        *timed(mine for mine, _ in good),
        ratios(mine.p50 / small.p50 for mine, small in good),
    )


def _left_out(rows: int, free: int) -> str:
    return (
        f"{rows:,} rows are left out: they take about {rows * _ROW_BYTES / 1e9:.0f} GB of disk, and "
        f"{free / 1e9:.1f} GB are free; TMPDIR may name another disk"
    )
