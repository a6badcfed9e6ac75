"""How long keeping a hand takes, and what it takes on disk."""

from typing import Final

import psycopg

from bench.clients import ask, charge, promote
from bench.jobs import Result
from bench.playing import LONG, TABLE, fill, prompt_bytes
from bench.rounds import timed
from bench.site import DISK, ELSEWHERE, Site, site
from bench.table import Part, counts

KEEPING: Final = "promote"
_HANDS: Final = 40  # a repetition
_WARM: Final = 5
_SIZES: Final = """
SELECT COALESCE(sum(pg_total_relation_size(oid)) FILTER (WHERE relname LIKE 'agent\\_call\\_%'), 0)::bigint,
       COALESCE(sum(pg_total_relation_size(oid)) FILTER (WHERE relname LIKE 'agent\\_search\\_%'), 0)::bigint
FROM pg_class WHERE relkind = 'r'
"""


def measure(reps: int) -> Part:
    """Hands that nobody has kept before, one after the other; the tables are measured at the end."""
    with site() as server:
        results = [_keep(server, rep) for rep in range(reps)]
        kept, searched = _sizes(server)
    return Part(
        title=f"Keeping a hand: {LONG} turns of one agent, prompts of {prompt_bytes():,} B, {reps} repetitions",
        headers=("over HTTP", "p50 ms", "p99 ms", "on disk, B a turn", "search text, B a turn"),
        rows=[
            (
                KEEPING,
                *timed(result for result in results if result.error is None),
                counts([kept]),
                counts([searched]),
            )
        ],
        notes=(
            f"{DISK}; the times are of a hand that is in the buffer and was not kept before",
            f"on disk: the records and envelopes of {reps * _HANDS:,} hands after VACUUM, indexes and TOAST included; "
            "search text is derived, and counted apart",
            f"{ELSEWHERE}: Phoenix stored 13,677 B a turn on Postgres, MLflow 36,419 B on SQLite and in files",
        ),
        results=results,
    )


def _keep(server: Site, rep: int) -> Result:
    hands = range(1 + rep * _HANDS, 1 + (rep + 1) * _HANDS)
    charge(server, fill(server.buffer_url, hands, agents=1))
    return ask(server, KEEPING, [promote(TABLE, hand, "agent-0") for hand in hands], warm=_WARM)


def _sizes(server: Site) -> tuple[float, float]:
    """Bytes a pinned turn: of what is kept, and of the search text."""
    with psycopg.connect(server.database_url, autocommit=True) as database:
        database.execute("VACUUM")
        turns = (database.execute("SELECT count(*) FROM agent_call_records").fetchone() or (0,))[0] or 1
        kept, searched = database.execute(_SIZES).fetchone() or (0, 0)
    return kept / turns, searched / turns
