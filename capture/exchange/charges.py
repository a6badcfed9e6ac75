"""The ledger's charges of a hand as JSON: as on the wire, and with nothing rounded off.

The wire gives the provider's usage object as JSON for any language to read. Here it goes as the frozen bytes that the
ledger holds, in base64, and the amount as the ledger's own JSON, so that a charge comes back equal.
"""

import base64
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from capture.exchange.errors import ExchangeError
from capture.ledger import storable
from capture_sdk.errors import IdError, RecordError
from capture_sdk.freeze import jsonable, unpack
from capture_sdk.records import Amount, Charge
from capture_sdk.wire import charge_from_json, charge_json, unbase64

# What the ledger keeps as text columns: read as it would store them, so that a repeat compares equal.
_TEXTS: Final = ("agent_version_id", "model", "provider", "fallback_reason", "action")


def write_charges(charges: Sequence[Charge]) -> bytes:
    """The charges as a JSON list, in the order given."""
    return json.dumps([_item(charge) for charge in charges], indent=1, allow_nan=False).encode()


def read_charges(data: bytes) -> list[Charge]:
    """The charges that ``write_charges`` wrote. Raises ExchangeError for anything else."""
    try:
        items = json.loads(data)
        if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
            raise ExchangeError("the file's charges are no list of objects")
        return [_charge(each) for each in items]
    except (IdError, RecordError) as exc:
        raise ExchangeError(f"a charge in the file is wrong: {exc}") from exc
    except (ValueError, OverflowError, RecursionError) as exc:
        raise ExchangeError("the file's charges cannot be read") from exc


def _item(charge: Charge) -> dict[str, object]:
    usage = None if charge.usage is None else base64.b64encode(charge.usage).decode("ascii")
    return charge_json(replace(charge, usage=None)) | {"usage": usage, "amount": jsonable(charge.amount)}


def _charge(item: Mapping[str, Any]) -> Charge:
    plain = {name: value for name, value in item.items() if name not in ("usage", "amount")}
    charge = charge_from_json(plain)
    texts: dict[str, Any] = {
        name: storable(value) for name in _TEXTS if (value := getattr(charge, name)) is not None
    }
    return replace(
        charge,
        charged_at=charge.charged_at.astimezone(datetime.UTC),
        usage=_usage(item.get("usage")),
        amount=_amount(item.get("amount")),
        **texts,
    )


def _usage(value: object) -> bytes | None:
    if value is None:
        return None
    frozen = unbase64("usage", value)
    unpack(frozen)  # what nobody can thaw is refused here, not at the first read
    return frozen


def _amount(value: Any) -> Amount:
    """A number or text, or the form that stands for a number that JSON does not have."""
    is_form = isinstance(value, dict) and set(value) <= {"$float", "$int"}
    if value is not None and not is_form and not isinstance(value, int | float | str):
        raise RecordError(f"amount must be a number or text, not {type(value).__name__}")
    amount: Amount = value
    return amount
