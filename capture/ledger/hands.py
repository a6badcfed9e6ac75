"""``agent_hands``, one row a hand over the ledger: kept by the ledger's writer, and made anew in chunks.

A hand's id is the id of its first ledger row: a hand keeps its place among recent hands whenever its row is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from django.db import connection

from capture.ledger.locks import alone
from capture.limits import ID_LENGTH, REBUILD_CHUNK_HANDS

_FIGURES: Final = (
    *("first_at", "last_at", "agents", "model_names", "agent_version_ids"),
    *("turns", "fallbacks", "clamped", "redacted", "cost_micros"),
)


def _names(column: str) -> str:
    """The names of a column, each once. Ordered by their characters' numbers, whatever the database's language."""
    name = f'left({column}, {ID_LENGTH}) COLLATE "C"'
    return f"COALESCE(array_agg(DISTINCT {name} ORDER BY {name}) FILTER (WHERE {column} IS NOT NULL), '{{}}')"


def _joined(column: str) -> str:
    """The names of a row and of what is added to it, in the same order."""
    names = f"unnest(agent_hands.{column} || excluded.{column})"
    return f'{column} = ARRAY(SELECT DISTINCT name COLLATE "C" FROM {names} AS name ORDER BY 1)'  # noqa: S608


def summed(which: str) -> str:
    """The writer and the rebuild add rows up with these words, so they cannot disagree."""
    return f"""
        INSERT INTO agent_hands (id, table_id, hand_number, {", ".join(_FIGURES)})
        SELECT min(id), table_id, hand_number, min(charged_at), max(charged_at),
               {_names("agent_id")}, {_names("model")}, {_names("agent_version_id")},
               count(*) FILTER (WHERE NOT is_fallback), count(*) FILTER (WHERE is_fallback),
               count(*) FILTER (WHERE is_clamped), count(*) FILTER (WHERE is_redacted), sum(cost_micros)
        FROM agent_inference_charges WHERE {which} GROUP BY table_id, hand_number
    """  # noqa: S608 - column names only


# One order for every writer: two of them never wait for each other in a ring.
_ADD: Final = f"""
{summed("id = ANY(%s)")} ORDER BY table_id COLLATE "C", hand_number
ON CONFLICT (table_id, hand_number) DO UPDATE SET
    first_at = LEAST(agent_hands.first_at, excluded.first_at),
    last_at = GREATEST(agent_hands.last_at, excluded.last_at),
    {_joined("agents")}, {_joined("model_names")}, {_joined("agent_version_ids")},
    turns = agent_hands.turns + excluded.turns,
    fallbacks = agent_hands.fallbacks + excluded.fallbacks,
    clamped = agent_hands.clamped + excluded.clamped,
    redacted = agent_hands.redacted + excluded.redacted,
    cost_micros = CASE WHEN excluded.cost_micros IS NULL THEN agent_hands.cost_micros
                       ELSE COALESCE(agent_hands.cost_micros, 0) + excluded.cost_micros END
"""
_SOME: Final = "(table_id, hand_number) > (%s, %s)"
_UP_TO: Final = "(table_id, hand_number) <= (%s, %s)"
_OLD: Final = ", ".join(f"agent_hands.{name}" for name in _FIGURES)
_NEW: Final = ", ".join(f"excluded.{name}" for name in _FIGURES)
# A row that is right already is left alone: a rebuild of a sound table writes nothing.
_CORRECT: Final = f"""
ON CONFLICT (table_id, hand_number) DO UPDATE SET ({", ".join(_FIGURES)}) = ROW({_NEW})
WHERE ROW({_OLD}) IS DISTINCT FROM ROW({_NEW}) RETURNING xmax = 0
"""
# LIMIT keeps the planner from making a join of it, which would read the whole ledger for one chunk.
_REMOVE: Final = """
DELETE FROM agent_hands WHERE {which} AND
    (SELECT id FROM agent_inference_charges AS charge WHERE charge.table_id = agent_hands.table_id
     AND charge.hand_number = agent_hands.hand_number LIMIT 1) IS NULL
"""
# Of the ledger's next hands and of the table's, whichever end earlier: a chunk is no larger in either.
_LAST_OF_CHUNK: Final = f"""
SELECT table_id, hand_number FROM (
    (SELECT DISTINCT table_id, hand_number FROM agent_inference_charges WHERE {_SOME}
     ORDER BY table_id, hand_number OFFSET %s LIMIT 1)
    UNION ALL
    (SELECT table_id, hand_number FROM agent_hands WHERE {_SOME}
     ORDER BY table_id, hand_number OFFSET %s LIMIT 1)
) AS ends ORDER BY table_id, hand_number LIMIT 1
"""  # noqa: S608 - fixed words only
# A chunk's bounds look like a large part of the ledger to the planner, which knows the first column alone.
_BY_INDEX: Final = "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashagg = off; SET LOCAL jit = off"


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild found: rows that were missing, wrong, or of hands that the ledger does not know."""

    added: int
    corrected: int
    removed: int


def add_to_hands(charge_ids: Sequence[int]) -> None:
    """Add ledger rows that this transaction wrote to their hands."""
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [list(charge_ids)])


def rebuild_hands(told: Callable[[int], object] = lambda _: None) -> Rebuilt:
    """Make ``agent_hands`` agree with the ledger, chunk by chunk; ``told`` hears how many hands one is.

    A row that exists keeps its id: a walk over recent hands skips and repeats nothing meanwhile. Writers wait for
    one chunk at most. Safe at any time, twice, and two at once. Raises LedgerBusy.
    """
    after: tuple[str, int] | None = ("", -1)  # before every hand: an id has a character
    added = corrected = removed = 0
    while after is not None:
        after, done = alone(partial(_rebuild_chunk, after))
        added, corrected, removed = added + done.added, corrected + done.corrected, removed + done.removed
        if after is not None:
            told(REBUILD_CHUNK_HANDS)
    return Rebuilt(added, corrected, removed)


def _rebuild_chunk(after: tuple[str, int]) -> tuple[tuple[str, int] | None, Rebuilt]:
    """Rebuild what follows ``after``; return the last hand of the chunk, None when it reached the end."""
    with connection.cursor() as cursor:
        cursor.execute(_BY_INDEX)
        cursor.execute(_LAST_OF_CHUNK, [*after, REBUILD_CHUNK_HANDS - 1] * 2)
        last = cursor.fetchone()
        which, bounds = (_SOME, after) if last is None else (f"{_SOME} AND {_UP_TO}", (*after, *last))
        cursor.execute(_REMOVE.format(which=which), bounds)
        removed = cursor.rowcount
        cursor.execute(summed(which) + _CORRECT, bounds)
        are_new = [is_new for (is_new,) in cursor.fetchall()]
        return last, Rebuilt(sum(are_new), are_new.count(False), removed)
