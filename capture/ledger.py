"""The inference ledger: its only writer, and the one-row-a-hand table that it keeps beside it."""

import datetime
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from django.db import connection, transaction

from capture.limits import ID_LENGTH, LEDGER_BATCH_ROWS
from capture.models import AgentHand, AgentInferenceCharge
from capture_sdk.freeze import jsonable
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.records import Amount, Charge, TurnKey

_KEY: Final = ("table_id", "hand_number", "agent_id", "action_index")
_COLUMNS: Final = (*_KEY, *(each.name for each in fields(Charge) if each.name != "key"))

_INSERT: Final = (
    f"INSERT INTO agent_inference_charges ({', '.join(_COLUMNS)}) VALUES %s"  # noqa: S608 - column names only
    " ON CONFLICT (table_id, hand_number, agent_id, action_index) DO NOTHING"
    " RETURNING table_id, hand_number, agent_id, model, agent_version_id,"
    " is_fallback, is_clamped, is_redacted, cost_micros, charged_at"
)
# Both the writer and the rebuild add rows up in SQL with these words, so they cannot disagree.
_UPSERT_HAND: Final = """
INSERT INTO agent_hands
    (table_id, hand_number, first_at, last_at, agents, model_names, agent_version_ids,
     turns, fallbacks, clamped, redacted, cost_micros)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (table_id, hand_number) DO UPDATE SET
    first_at = LEAST(agent_hands.first_at, excluded.first_at),
    last_at = GREATEST(agent_hands.last_at, excluded.last_at),
    agents = ARRAY(SELECT DISTINCT name FROM unnest(agent_hands.agents || excluded.agents) AS name
                   ORDER BY name),
    model_names = ARRAY(SELECT DISTINCT name FROM unnest(agent_hands.model_names || excluded.model_names) AS name
                        ORDER BY name),
    agent_version_ids = ARRAY(SELECT DISTINCT name
                              FROM unnest(agent_hands.agent_version_ids || excluded.agent_version_ids) AS name
                              ORDER BY name),
    turns = agent_hands.turns + excluded.turns,
    fallbacks = agent_hands.fallbacks + excluded.fallbacks,
    clamped = agent_hands.clamped + excluded.clamped,
    redacted = agent_hands.redacted + excluded.redacted,
    cost_micros = CASE WHEN excluded.cost_micros IS NULL THEN agent_hands.cost_micros
                       ELSE COALESCE(agent_hands.cost_micros, 0) + excluded.cost_micros END
"""
_REBUILD: Final = """
INSERT INTO agent_hands
    (table_id, hand_number, first_at, last_at, agents, model_names, agent_version_ids,
     turns, fallbacks, clamped, redacted, cost_micros)
SELECT table_id, hand_number, min(charged_at), max(charged_at),
       array_agg(DISTINCT agent_id ORDER BY agent_id),
       COALESCE(array_agg(DISTINCT left(model, 200) ORDER BY left(model, 200))
                FILTER (WHERE model IS NOT NULL), '{}'),
       COALESCE(array_agg(DISTINCT left(agent_version_id, 200) ORDER BY left(agent_version_id, 200))
                FILTER (WHERE agent_version_id IS NOT NULL), '{}'),
       count(*) FILTER (WHERE NOT is_fallback), count(*) FILTER (WHERE is_fallback),
       count(*) FILTER (WHERE is_clamped), count(*) FILTER (WHERE is_redacted), sum(cost_micros)
FROM agent_inference_charges GROUP BY table_id, hand_number ORDER BY min(id)
"""


def record_charges(charges: Sequence[Charge]) -> int:
    """Write charges and their hands in one transaction; return how many were new.

    Idempotent: a charge whose key is in the ledger changes nothing (the first one written stays, also
    when the repeat differs). Raises IdError for a key that is not accepted, and then writes nothing.
    """
    rows = {charge.key: charge for charge in reversed(charges)}
    ordered = sorted(rows, key=lambda key: (key.table_id, key.hand_number, key.agent_id, key.action_index))
    for key in ordered:
        _check(key)
    inserted = 0
    with transaction.atomic():
        for batch in _batches(ordered):
            added = _insert([rows[key] for key in batch])
            inserted += len(added)
            _add_to_hands(added)
    return inserted


def rebuild_hands() -> int:
    """Make ``agent_hands`` anew from the ledger, in one transaction; return the number of hands."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE agent_hands IN EXCLUSIVE MODE")
        cursor.execute("DELETE FROM agent_hands")
        cursor.execute(_REBUILD)
        return AgentHand.objects.count()


def charges_of_hand(table_id: str, hand_number: int, *, agent_id: str | None) -> list[Charge]:
    """One agent's charges of a hand, or every agent's for ``agent_id=None``; by action index, then agent."""
    rows = AgentInferenceCharge.objects.filter(table_id=table_id, hand_number=hand_number)
    if agent_id is not None:
        rows = rows.filter(agent_id=agent_id)
    return [_charge(row) for row in rows.order_by("action_index", "agent_id")]


def storable(text: str) -> str:
    """Text columns refuse NUL and half surrogates; these few describe a call and are not its evidence."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")


def amount_json(amount: Amount) -> str | None:
    """The amount as JSON text, every digit kept; None where there is none."""
    return None if amount is None else json.dumps(jsonable(amount))


@dataclass(frozen=True, slots=True)
class _Added:
    """What one new ledger row adds to its hand."""

    table_id: str
    hand_number: int
    agent_id: str
    model: str | None
    agent_version_id: str | None
    is_fallback: bool
    is_clamped: bool
    is_redacted: bool
    cost_micros: int | None
    charged_at: datetime.datetime


def _check(key: TurnKey) -> None:
    checked_id("tableId", key.table_id)
    checked_index("handNumber", key.hand_number)
    checked_id("agentId", key.agent_id)
    checked_index("actionIndex", key.action_index)


def _batches(keys: list[TurnKey]) -> Iterator[list[TurnKey]]:
    for start in range(0, len(keys), LEDGER_BATCH_ROWS):
        yield keys[start : start + LEDGER_BATCH_ROWS]


def _insert(charges: list[Charge]) -> list[_Added]:
    one = f"({', '.join(['%s'] * len(_COLUMNS))})"
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT.replace("%s", ", ".join([one] * len(charges))),
            [value for charge in charges for value in _values(charge)],
        )
        return [_Added(*row) for row in cursor.fetchall()]


def _values(charge: Charge) -> Iterator[Any]:
    for name in _COLUMNS:
        value = getattr(charge.key, name) if name in _KEY else getattr(charge, name)
        if name == "amount":
            value = amount_json(value)
        yield storable(value) if isinstance(value, str) else value


def _add_to_hands(added: Iterable[_Added]) -> None:
    hands: dict[tuple[str, int], list[_Added]] = {}
    for row in added:
        hands.setdefault((row.table_id, row.hand_number), []).append(row)
    with connection.cursor() as cursor:
        for hand in sorted(
            hands
        ):  # one order for every writer: two of them never wait for each other in a ring
            cursor.execute(_UPSERT_HAND, [*hand, *_sums(hands[hand])])


def _sums(rows: list[_Added]) -> list[Any]:
    times = [row.charged_at for row in rows]
    costs = [row.cost_micros for row in rows if row.cost_micros is not None]
    return [
        min(times),
        max(times),
        sorted({row.agent_id for row in rows}),
        _names(row.model for row in rows),
        _names(row.agent_version_id for row in rows),
        sum(not row.is_fallback for row in rows),
        sum(row.is_fallback for row in rows),
        sum(row.is_clamped for row in rows),
        sum(row.is_redacted for row in rows),
        sum(costs) if costs else None,
    ]


def _names(given: Iterable[str | None]) -> list[str]:
    return sorted({name[:ID_LENGTH] for name in given if name is not None})


def _charge(row: AgentInferenceCharge) -> Charge:
    values: dict[str, Any] = {name: getattr(row, name) for name in _COLUMNS if name not in _KEY}
    values["amount"] = None if row.amount is None else json.loads(row.amount)
    values["usage"] = None if row.usage is None else bytes(row.usage)
    return Charge(key=TurnKey(row.table_id, row.hand_number, row.agent_id, row.action_index), **values)
