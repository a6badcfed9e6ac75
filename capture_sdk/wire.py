"""What crosses HTTP between an agent's process and the capture server: one home for both ends.

    POST …/turns    {"turns": [{"record": base64, "envHash": hex, "envelope": base64}]}
    POST …/charges  {"charges": [{"tableId", "handNumber", "agentId", "actionIndex", "chargedAt", …}]}
    POST …/runs/events  {"events": [{"event": base64, "artifacts": [{"sha256": hex, "data": base64}]}]}
    answer          {"results": [{"status", "reason", "message"}]}, one for each item, in order

``record`` is what ``codec.encode`` wrote. ``envelope`` may be left out when the server is thought to have it: where it
has not, the item's status is ``envelope_needed`` and it is sent again with it. So it is with an event's artifacts:
``event`` is what ``encode_event`` wrote, ``data`` the bytes of an artifact as a store keeps them, and an item without
the ``data`` that the server lacks is ``artifact_needed``.
"""

import base64
import binascii
import datetime
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from capture_sdk.errors import RecordError
from capture_sdk.freeze import jsonable, pack, unpack
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.records import Charge, TurnKey

TURNS_PATH: Final = "/internal/agent-capture/turns"
CHARGES_PATH: Final = "/internal/agent-capture/charges"
RUN_EVENTS_PATH: Final = "/internal/agent-capture/runs/events"
WRITTEN: Final = "written"
ENVELOPE_NEEDED: Final = "envelope_needed"
ARTIFACT_NEEDED: Final = "artifact_needed"
REFUSED: Final = "refused"

CHARGE_NUMBER_MAX: Final = (
    10**12
)  # tokens, or millionths of the currency: nine million still add up within 64 bits
ATTEMPTS_MAX: Final = 2**31 - 1  # what the ledger's column holds
LATENCY_MS_MAX: Final = 2**31 - 1  # 24 days, and what the column holds
_KEY: Final = ("tableId", "handNumber", "agentId", "actionIndex")


def turn_json(record: bytes, env_hash: str | None, envelope: bytes | None) -> dict[str, object]:
    """One item of a batch of turns."""
    item: dict[str, object] = {"record": base64.b64encode(record).decode("ascii")}
    if env_hash is not None:
        item["envHash"] = env_hash
    if envelope is not None:
        item["envelope"] = base64.b64encode(envelope).decode("ascii")
    return item


def event_json(event: bytes, artifacts: Iterable[tuple[str, bytes | None]]) -> dict[str, object]:
    """One item of a batch of a run's events: ``artifacts`` are (sha256, stored bytes or None)."""
    item: dict[str, object] = {"event": base64.b64encode(event).decode("ascii")}
    listed = [
        {"sha256": sha256} | ({} if data is None else {"data": base64.b64encode(data).decode("ascii")})
        for sha256, data in artifacts
    ]
    return item | ({"artifacts": listed} if listed else {})


def charge_json(charge: Charge) -> dict[str, object]:
    """A charge as plain JSON, the provider's usage object as it was received."""
    item: dict[str, object] = dict(
        zip(
            _KEY,
            (charge.key.table_id, charge.key.hand_number, charge.key.agent_id, charge.key.action_index),
            strict=True,
        )
    )
    for name, camel in _CHARGE_FIELDS.items():
        item[camel] = getattr(charge, name)
    item["chargedAt"] = charge.charged_at.isoformat()
    item["usage"] = None if charge.usage is None else jsonable(unpack(charge.usage))
    return item


def charge_from_json(item: Mapping[str, Any]) -> Charge:
    """The charge that ``charge_json`` wrote, or that another language did.

    Raises RecordError or IdError, naming the field, its value and what is wanted.
    """
    unknown = item.keys() - set(_KEY) - set(_CHARGE_FIELDS.values())
    if unknown:
        raise RecordError(f"{min(unknown)} is no field of a charge")
    key = TurnKey(
        checked_id("tableId", item.get("tableId")),
        checked_index("handNumber", item.get("handNumber")),
        checked_id("agentId", item.get("agentId")),
        checked_index("actionIndex", item.get("actionIndex")),
    )
    given = {
        name: _checked(name, camel, item[camel])
        for name, camel in _CHARGE_FIELDS.items()
        if item.get(camel) is not None
    }
    if "charged_at" not in given:
        raise RecordError(
            "chargedAt is missing: the time in ISO 8601 with its offset, such as 2026-01-31T12:00:00Z"
        )
    return Charge(key=key, **given)


def checked_figures(charge: Charge) -> None:
    """Refuse what the ledger cannot add up: numbers out of their range, and a time without its offset.

    Raises RecordError naming the field, its value and the limit.
    """
    for name in _NUMBERS:
        if getattr(charge, name) is not None:
            checked_number(_CHARGE_FIELDS[name], getattr(charge, name))
    checked_number("attempts", charge.attempts, most=ATTEMPTS_MAX)
    if charge.latency_ms is not None:
        checked_number("latencyMs", charge.latency_ms, most=LATENCY_MS_MAX)
    if charge.charged_at.tzinfo is None:
        raise RecordError(
            f"chargedAt is {charge.charged_at}, which names no offset: give a time with its zone"
        )


def checked_number(name: str, value: object, *, most: int = CHARGE_NUMBER_MAX) -> int:
    """Return ``value`` if it is an integer from 0 to ``most``. Raises RecordError naming all three."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise RecordError(
            f"{name} is {value!r:.40}, a {type(value).__name__}: an integer from 0 to {most} is wanted"
        )
    if not 0 <= value <= most:
        shown = f"{value}" if value.bit_length() <= 128 else f"an integer of {value.bit_length()} bits"
        raise RecordError(f"{name} is {shown}: from 0 to {most} is taken")
    return int(value)


def unbase64(name: str, value: object) -> bytes:
    """The bytes that base64 text stands for. Raises RecordError naming the field."""
    if not isinstance(value, str):
        raise RecordError(f"{name} must be base64 text, not {type(value).__name__}")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise RecordError(f"{name} is not base64") from None


def _checked(name: str, camel: str, value: Any) -> Any:
    if name == "usage":
        return pack(value)
    if name == "charged_at":
        return time_from_json(camel, value)
    if name == "amount":
        wanted: tuple[type, ...] = (int, float, str)
    elif name.startswith("is_"):
        wanted = (bool,)
    elif name == "attempts":
        return min(checked_index(camel, value), ATTEMPTS_MAX)
    elif name == "latency_ms":
        return checked_number(camel, value, most=LATENCY_MS_MAX)
    elif name in _NUMBERS:
        return checked_number(camel, value)
    else:
        wanted = (str,)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        raise RecordError(
            f"{camel} must be {' or '.join(kind.__name__ for kind in wanted)}, not {type(value).__name__}"
        )
    return value


def time_from_json(camel: str, value: object) -> datetime.datetime:
    """A moment written in ISO 8601 with its offset, in UTC. Raises RecordError naming the field."""
    if not isinstance(value, str):
        raise RecordError(f"{camel} must be text in ISO 8601, not {type(value).__name__}")
    try:
        time = datetime.datetime.fromisoformat(value)
        moved = time.astimezone(datetime.UTC)  # stores refuse offsets that Python takes
    except (ValueError, OverflowError):
        raise RecordError(
            f"{camel} is {value[:40]!r}: ISO 8601 is wanted, such as 2026-01-31T12:00:00Z"
        ) from None
    if time.tzinfo is None:
        raise RecordError(f"{camel} is {value[:40]!r}, which names no offset: write Z for UTC")
    return moved


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


_CHARGE_FIELDS: Final = {each.name: _camel(each.name) for each in fields(Charge) if each.name != "key"}
_NUMBERS: Final = tuple(name for name in _CHARGE_FIELDS if name.endswith(("tokens", "micros")))
