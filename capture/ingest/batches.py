"""Turns and charges that come by HTTP: checked item by item, then written by the code that every agent uses.

One bad item costs neither its batch nor itself more than its own refusal, which says why.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from capture.auth import Caller
from capture.buffer import Buffer
from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable
from capture.ingest.outcomes import Outcome, Refused, counted, own, read_item, written
from capture.ingest.packing import packer
from capture.ingest.plain import record_from_json
from capture.ledger import record_charges
from capture.soundness import check_sound
from capture.weight import light_fields
from capture_sdk.codec import build, dictionary_hash, envelope_hash, packed, unframe
from capture_sdk.errors import TransportError
from capture_sdk.records import Charge, TurnRecord
from capture_sdk.transports import Parcel
from capture_sdk.wire import ENVELOPE_NEEDED, WRITTEN, charge_from_json, unbase64


def take_turns(items: Sequence[object], *, caller: Caller) -> list[Outcome]:
    """Write a batch of turns to the buffer; an outcome for each, in order.

    Raises StoresUnavailable when the buffer does not answer: then the whole batch is to be sent again.
    """
    read = [read_item(_parcel, item, caller) for item in items]
    places = [place for place, each in enumerate(read) if isinstance(each, Parcel)]
    parcels = [each for each in read if isinstance(each, Parcel)]
    refused: dict[int, str] = {}
    try:
        if parcels:
            refused = {places[each.index]: each.reason for each in Buffer.writer().write(parcels)}
    except TransportError as exc:
        raise StoresUnavailable("the buffer is unavailable") from exc
    return counted(
        "turn",
        [
            each if isinstance(each, Outcome) else written(refused.get(place), ENVELOPE_NEEDED)
            for place, each in enumerate(read)
        ],
    )


def take_charges(items: Sequence[object], *, caller: Caller) -> list[Outcome]:
    """Write a batch of charges to the ledger; an outcome for each, in order. A repeat is written once.

    Raises StoresUnavailable when Postgres does not answer.
    """
    read = [read_item(_charge, item, caller) for item in items]
    charges = [each for each in read if isinstance(each, Charge)]
    try:
        ask(lambda: record_charges(charges))
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc
    return counted("charge", [each if isinstance(each, Outcome) else Outcome(WRITTEN) for each in read])


def _parcel(item: Mapping[str, Any], caller: Caller) -> Parcel:
    """One turn, of the SDK or of any language."""
    if "record" not in item:
        record = record_from_json(item)
        own(record.key.agent_id, caller)
        return packer.parcel(record.key, packed(record), record.prompt)
    content = _content(unbase64("record", item["record"]))
    record = _record(content, item)
    own(record.key.agent_id, caller)
    return packer.parcel(record.key, content, record.prompt)


def _content(data: bytes) -> bytes:
    if dictionary_hash(data) is not None:
        raise Refused("bad_value", "record needs a dictionary: a record sent by HTTP stands alone")
    return unframe(data)


def _record(content: bytes, item: Mapping[str, Any]) -> TurnRecord:
    """The SDK's record, its key checked. What a client claims of a hash is not believed: it is computed here."""
    fields = light_fields(content)
    env_hash = envelope_hash(fields)
    envelope = None if item.get("envelope") is None else unbase64("envelope", item["envelope"])
    if env_hash is not None and envelope is not None and hashlib.sha256(envelope).hexdigest() != env_hash:
        raise Refused("bad_value", f"envelope does not hash to the record's {env_hash}")
    record = build(fields, envelope)
    check_sound(record)
    return record


def _charge(item: Mapping[str, Any], caller: Caller) -> Charge:
    charge = charge_from_json(item)
    own(charge.key.agent_id, caller)
    return charge
