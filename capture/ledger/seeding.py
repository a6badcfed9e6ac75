"""A large ledger of synthetic charges, to measure on and to try things with: never a platform's own numbers.

The tables ``seed-0`` to ``seed-49`` are its own: nothing else is written or removed. Every value follows from the row's
number and the moment of seeding, so that the same call adds nothing twice. Hands are added up by the ledger's own SQL.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db import connection, transaction

from capture.ledger.hands import summed
from capture.limits import SEED_CHUNK_HANDS, SEED_ROWS
from capture.models import AgentHand, AgentInferenceCharge

TABLES: Final = tuple(f"seed-{number}" for number in range(50))
PER_HAND: Final = 25

# Row by row: 4 % fallbacks and 1 % clamped, exactly, spread by multiplying with a prime. Hands that are there stay as
# they are. The numbers of new rows are those of the hands, so that the newest hand is the last one.
_CHARGES: Final = """
INSERT INTO agent_inference_charges
    (table_id, hand_number, agent_id, action_index, agent_version_id, model, provider,
     input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_micros, latency_ms, attempts,
     is_fallback, fallback_reason, is_clamped, is_redacted, action, amount, charged_at)
SELECT table_id, hand_number, 'seed-agent-' || place %% 6, place, 'v' || 1 + hand / 4000 %% 40,
       (ARRAY['model-large', 'model-small', 'model-fast'])[1 + place %% 6 %% 3],
       (ARRAY['provider-a', 'provider-b'])[1 + place %% 6 %% 3 %% 2],
       CASE WHEN NOT falls_back THEN 3500 + dice * 15 END, CASE WHEN NOT falls_back THEN 2800 END,
       CASE WHEN NOT falls_back THEN 150 + dice END, CASE WHEN NOT falls_back AND dice < 50 THEN dice * 20 END,
       CASE WHEN NOT falls_back THEN 900 + dice * 83 END, CASE WHEN falls_back THEN 9000 ELSE 600 + dice * 31 END,
       CASE WHEN falls_back THEN 3 ELSE 1 END,
       falls_back, CASE WHEN falls_back THEN (ARRAY['timeout', 'error', 'unusable'])[1 + dice %% 3] END,
       dice = 50, dice = 70,
       CASE WHEN falls_back THEN 'fold' ELSE (ARRAY['call', 'raise', 'fold', 'check'])[1 + dice %% 4] END,
       CASE WHEN NOT falls_back AND dice %% 4 = 1 THEN (dice * 3)::text END,
       %(newest)s - make_interval(secs => (%(hands)s - 1 - hand) * %(per_hand)s + %(per_hand)s - 1 - place)
FROM (SELECT hand, 'seed-' || hand %% 50 AS table_id, 1 + hand / 50 AS hand_number
      FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS hand) AS wanted
CROSS JOIN generate_series(0, %(per_hand)s - 1) AS place
CROSS JOIN LATERAL (SELECT (hand * %(per_hand)s + place) * 7919 %% 100 AS dice) AS thrown
CROSS JOIN LATERAL (SELECT dice < 4 AS falls_back) AS judged
WHERE NOT EXISTS (SELECT FROM agent_hands AS known
                  WHERE known.table_id = wanted.table_id AND known.hand_number = wanted.hand_number)
ORDER BY hand, place
ON CONFLICT (table_id, hand_number, agent_id, action_index) DO NOTHING
RETURNING *
"""
# The ledger's own words read this statement's new rows instead of the table: within it the name is theirs.
_SEED: Final = f"WITH agent_inference_charges AS ({_CHARGES}) {summed('TRUE')}"


@dataclass(frozen=True, slots=True)
class Seeded:
    """What was added, or removed: rows of the ledger, and their hands."""

    rows: int
    hands: int


def _unwatched(rows: int) -> None:
    """Nobody waits for how far it is."""


def seed(rows: int, *, per_hand: int = PER_HAND, advance: Callable[[int], object] = _unwatched) -> Seeded:
    """Have at least ``rows`` synthetic charges in the ledger, in whole hands, one second apart and the last one now.

    ``advance`` is told after each chunk how many rows it dealt with. Every chunk is a transaction: what was interrupted
    is taken up again by the same call. Raises ValueError for numbers that make no ledger.
    """
    if not 1 <= rows <= SEED_ROWS or not 1 <= per_hand <= rows:
        raise ValueError(
            f"rows must lie between 1 and {SEED_ROWS:,}, and a hand cannot have more of them than that"
        )
    hands, added = -(-rows // per_hand), 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        (newest,) = cursor.fetchone() or (None,)
        for first in range(0, hands, SEED_CHUNK_HANDS):
            last = min(first + SEED_CHUNK_HANDS, hands) - 1
            where = {"first": first, "last": last, "hands": hands, "per_hand": per_hand, "newest": newest}
            cursor.execute(_SEED, where)
            added += cursor.rowcount
            advance((last - first + 1) * per_hand)
        cursor.execute(
            "ANALYZE agent_inference_charges, agent_hands"
        )  # a plan made for an empty table is a bad one
    return Seeded(added * per_hand, added)


def seeded() -> Seeded:
    """What ``remove_seeded`` would remove."""
    return Seeded(
        AgentInferenceCharge.objects.filter(table_id__in=TABLES).count(),
        AgentHand.objects.filter(table_id__in=TABLES).count(),
    )


def remove_seeded(*, advance: Callable[[int], object] = _unwatched) -> Seeded:
    """Remove what ``seed`` made, a table in a transaction; ``advance`` is told the rows of each."""
    rows = hands = 0
    for table_id in TABLES:
        with transaction.atomic():
            gone = AgentInferenceCharge.objects.filter(table_id=table_id).delete()[0]
            hands += AgentHand.objects.filter(table_id=table_id).delete()[0]
        rows += gone
        advance(gone)
    return Seeded(rows, hands)
