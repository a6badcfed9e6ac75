"""Turns and charges that come by HTTP: checked item by item, then written by the code that every agent uses.

One bad item costs neither its batch nor itself more than its own refusal, which says why.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from capture import metrics
from capture.auth import Caller
from capture.buffer import Buffer
from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable
from capture.ingest.packing import packer
from capture.ingest.plain import record_from_json
from capture.ledger import record_charges
from capture.soundness import check_sound
from capture.weight import light_fields
from capture_sdk.codec import build, dictionary_hash, envelope_hash, packed, unframe
from capture_sdk.errors import IdError, RecordError, TransportError
from capture_sdk.records import Charge, TurnRecord
from capture_sdk.transports import BLOB_NEEDED, Parcel
from capture_sdk.wire import ENVELOPE_NEEDED, REFUSED, WRITTEN, charge_from_json, unbase64

_NOT_YOURS: Final = "not_yours"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one item; ``reason`` is one word, ``message`` names the value and the remedy."""

    status: str
    reason: str = ""
    message: str = ""


class _Refused(Exception):
    """An item that is not taken."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.outcome = Outcome(REFUSED, reason, message)


def take_turns(items: Sequence[object], *, caller: Caller) -> list[Outcome]:
    """Write a batch of turns to the buffer; an outcome for each, in order.

    Raises StoresUnavailable when the buffer does not answer: then the whole batch is to be sent again.
    """
    read = [_read(_parcel, item, caller) for item in items]
    places = [place for place, each in enumerate(read) if isinstance(each, Parcel)]
    parcels = [each for each in read if isinstance(each, Parcel)]
    refused: dict[int, str] = {}
    try:
        if parcels:
            refused = {places[each.index]: each.reason for each in Buffer.writer().write(parcels)}
    except TransportError as exc:
        raise StoresUnavailable("the buffer is unavailable") from exc
    return _counted(
        "turn",
        [
            each if isinstance(each, Outcome) else _written(refused.get(place))
            for place, each in enumerate(read)
        ],
    )


def take_charges(items: Sequence[object], *, caller: Caller) -> list[Outcome]:
    """Write a batch of charges to the ledger; an outcome for each, in order. A repeat is written once.

    Raises StoresUnavailable when Postgres does not answer.
    """
    read = [_read(_charge, item, caller) for item in items]
    charges = [each for each in read if isinstance(each, Charge)]
    try:
        ask(lambda: record_charges(charges))
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc
    return _counted("charge", [each if isinstance(each, Outcome) else Outcome(WRITTEN) for each in read])


def _counted(kind: str, outcomes: list[Outcome]) -> list[Outcome]:
    metrics.count_ingested(kind, [each.status for each in outcomes])
    return outcomes


def outcomes_json(outcomes: Iterable[Outcome]) -> dict[str, object]:
    """The answer of both."""
    return {
        "results": [
            {"status": each.status}
            | ({"reason": each.reason, "message": each.message} if each.reason else {})
            for each in outcomes
        ]
    }


def _read(check: Callable[[Mapping[str, Any], Caller], Item], item: object, caller: Caller) -> Item | Outcome:
    """An item, checked, or why it is not taken."""
    if not isinstance(item, Mapping):
        return Outcome(REFUSED, "bad_value", f"an item is an object, not {type(item).__name__}")
    try:
        return check(item, caller)
    except _Refused as exc:
        return exc.outcome
    except (RecordError, IdError) as exc:
        return Outcome(REFUSED, "bad_value", str(exc))


def _written(refusal: str | None) -> Outcome:
    if refusal is None:
        return Outcome(WRITTEN)
    if refusal == BLOB_NEEDED:
        return Outcome(ENVELOPE_NEEDED)
    return Outcome("failed", refusal, "the buffer did not take it: send it again")


def _parcel(item: Mapping[str, Any], caller: Caller) -> Parcel:
    """One turn, of the SDK or of any language."""
    if "record" not in item:
        record = record_from_json(item)
        _own(record.key.agent_id, caller)
        return packer.parcel(record.key, packed(record), record.prompt)
    content = _content(unbase64("record", item["record"]))
    record = _record(content, item)
    _own(record.key.agent_id, caller)
    return packer.parcel(record.key, content, record.prompt)


def _content(data: bytes) -> bytes:
    if dictionary_hash(data) is not None:
        raise _Refused("bad_value", "record needs a dictionary: a record sent by HTTP stands alone")
    return unframe(data)


def _record(content: bytes, item: Mapping[str, Any]) -> TurnRecord:
    """The SDK's record, its key checked. What a client claims of a hash is not believed: it is computed here."""
    fields = light_fields(content)
    env_hash = envelope_hash(fields)
    envelope = None if item.get("envelope") is None else unbase64("envelope", item["envelope"])
    if env_hash is not None and envelope is not None and hashlib.sha256(envelope).hexdigest() != env_hash:
        raise _Refused("bad_value", f"envelope does not hash to the record's {env_hash}")
    record = build(fields, envelope)
    check_sound(record)
    return record


def _charge(item: Mapping[str, Any], caller: Caller) -> Charge:
    charge = charge_from_json(item)
    _own(charge.key.agent_id, caller)
    return charge


def _own(agent_id: str, caller: Caller) -> None:
    if not caller.covers(agent_id):
        raise _Refused(_NOT_YOURS, f"{caller.actor} is not bound to the agent {agent_id!r}")
