"""The ledger's only writer, and the read of one hand's charges."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Final

from django.db import connection, transaction

from capture.ledger.hands import add_to_hands
from capture.ledger.locks import join_writers
from capture.limits import LEDGER_BATCH_ROWS
from capture.models import AgentInferenceCharge
from capture_sdk.freeze import jsonable
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.records import Amount, Charge, TurnKey
from capture_sdk.wire import checked_figures

_KEY: Final = ("table_id", "hand_number", "agent_id", "action_index")
_COLUMNS: Final = (*_KEY, *(each.name for each in fields(Charge) if each.name != "key"))

_INSERT: Final = (
    f"INSERT INTO agent_inference_charges ({', '.join(_COLUMNS)}) VALUES %s"  # noqa: S608 - column names only
    " ON CONFLICT (table_id, hand_number, agent_id, action_index) DO NOTHING"
    " RETURNING id"
)


def record_charges(charges: Sequence[Charge]) -> int:
    """Write charges and their hands in one transaction; return how many were new.

    Idempotent: a charge whose key is in the ledger changes nothing (the first one written stays, also
    when the repeat differs). Raises IdError for a key that is not accepted and RecordError for a number or a
    time that is not, and then writes nothing.
    """
    rows = {charge.key: charge for charge in reversed(charges)}
    for charge in rows.values():
        _check(charge)
    ordered = sorted(rows, key=lambda key: (key.table_id, key.hand_number, key.agent_id, key.action_index))
    with transaction.atomic():
        join_writers()
        # All charges before any hand: a writer that waits for a charge holds no hand that another waits for.
        added = [each for batch in _batches(ordered) for each in _insert([rows[key] for key in batch])]
        if added:
            add_to_hands(added)
    return len(added)


def charges_of_hand(table_id: str, hand_number: int, *, agent_id: str | None) -> list[Charge]:
    """One agent's charges of a hand, or every agent's for ``agent_id=None``; by action index, then agent."""
    rows = AgentInferenceCharge.objects.filter(table_id=table_id, hand_number=hand_number)
    if agent_id is not None:
        rows = rows.filter(agent_id=agent_id)
    return [_charge(row) for row in rows.order_by("action_index", "agent_id").values_list(*_COLUMNS)]


def storable(text: str) -> str:
    """Text columns refuse NUL and half surrogates; these few describe a call and are not its evidence."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")


def amount_json(amount: Amount) -> str | None:
    """The amount as JSON text, every digit kept; None where there is none."""
    return None if amount is None else json.dumps(jsonable(amount))


def _check(charge: Charge) -> None:
    checked_id("tableId", charge.key.table_id)
    checked_index("handNumber", charge.key.hand_number)
    checked_id("agentId", charge.key.agent_id)
    checked_index("actionIndex", charge.key.action_index)
    checked_figures(charge)


def _batches(keys: list[TurnKey]) -> Iterator[list[TurnKey]]:
    for start in range(0, len(keys), LEDGER_BATCH_ROWS):
        yield keys[start : start + LEDGER_BATCH_ROWS]


def _insert(charges: list[Charge]) -> list[int]:
    """The ids of those that were new."""
    one = f"({', '.join(['%s'] * len(_COLUMNS))})"
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT.replace("%s", ", ".join([one] * len(charges))),
            [value for charge in charges for value in _values(charge)],
        )
        return [added for (added,) in cursor.fetchall()]


def _values(charge: Charge) -> Iterator[Any]:
    for name in _COLUMNS:
        value = getattr(charge.key, name) if name in _KEY else getattr(charge, name)
        if name == "amount":
            value = amount_json(value)
        yield storable(value) if isinstance(value, str) else value


def _charge(row: Sequence[Any]) -> Charge:
    """A charge from the values of its columns: a model's instance costs more than reading them."""
    values = dict(zip(_COLUMNS, row, strict=True))
    key = TurnKey(*(values.pop(name) for name in _KEY))
    values["amount"] = None if values["amount"] is None else json.loads(values["amount"])
    values["usage"] = None if values["usage"] is None else bytes(values["usage"])
    return Charge(key=key, **values)
