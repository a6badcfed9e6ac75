"""The one codec of records, shared by whoever writes a store and whoever reads it.

A record is one version byte followed by a zstd frame (with checksum) of a msgpack map. Unknown map
keys are ignored, so an older reader survives a newer writer. The envelope is not in it: it is stored
once, raw, under its own key.
"""

import datetime
import threading
from typing import Any, Final

from capture_sdk.errors import RecordError
from capture_sdk.freeze import pack, unpack
from capture_sdk.prompt import Prompt, bytes_text, text_bytes
from capture_sdk.records import Adjustment, Attempt, TurnKey, TurnRecord

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14
except ImportError:
    from backports import zstd

VERSION: Final = b"\x01"
MAX_RECORD_BYTES: Final = 64 * 1024 * 1024  # a decompressed record beyond this is a bomb, not a turn


def encode(record: TurnRecord) -> bytes:
    """Write a record for a store, without its envelope."""
    return VERSION + compress(pack(_to_map(record), limit=MAX_RECORD_BYTES))


def decode(data: bytes, envelope: bytes | None = None) -> TurnRecord:
    """Read what ``encode`` wrote, putting ``envelope`` back in its place.

    Raises RecordError for anything that is not such a record, a damaged one included.
    """
    if data[:1] != VERSION:
        raise RecordError(f"record version {data[:1].hex() or 'missing'} is not known")
    try:
        fields = unpack(decompress(data[1:], MAX_RECORD_BYTES))
        if not isinstance(fields, dict):
            raise RecordError("the record is not a map")
        return _from_map(fields).with_envelope(envelope)
    except (zstd.ZstdError, ValueError, KeyError, TypeError, OverflowError) as exc:
        raise RecordError(f"the record is damaged: {type(exc).__name__}") from exc


def compress(data: bytes) -> bytes:
    """zstd level 1, with a checksum: also used for envelopes at rest in Postgres."""
    compressor = _compressors.zstd
    frame: bytes = compressor.compress(data, compressor.FLUSH_FRAME)
    return frame


def decompress(data: bytes, limit: int) -> bytes:
    """Undo ``compress``, refusing to grow beyond ``limit`` bytes. Raises RecordError."""
    try:
        decompressor = zstd.ZstdDecompressor()
        out: bytes = decompressor.decompress(data, max_length=limit + 1)
    except zstd.ZstdError as exc:
        raise RecordError("the frame is damaged") from exc
    if len(out) > limit:
        raise RecordError(f"the record is larger than {limit} bytes")
    if not decompressor.eof:
        raise RecordError("the frame is cut short")
    return out


class _Compressors(threading.local):
    """One compressor a thread: they are not thread-safe, and building one costs more than using it."""

    def __init__(self) -> None:
        parameter = zstd.CompressionParameter
        self.zstd = zstd.ZstdCompressor(options={parameter.compression_level: 1, parameter.checksum_flag: 1})


_compressors = _Compressors()


def _text(value: str | bytes | None) -> list[object] | None:
    """Text goes as [bytes, was it str], so that no string is refused and no bytes are re-read as text."""
    return None if value is None else [text_bytes(value), isinstance(value, str)]


def _untext(value: Any) -> str | bytes | None:
    return None if value is None else bytes_text(value[0], is_text=value[1])


def _prompt_map(prompt: Prompt | None) -> dict[str, object] | None:
    if prompt is None:
        return None
    return {
        "joiner": prompt.joiner,
        "remainder": prompt.remainder,
        "envHash": prompt.env_hash,
        "sha256": prompt.sha256,
        "isText": prompt.is_text,
    }


def _prompt(value: Any) -> Prompt | None:
    if value is None:
        return None
    return Prompt(
        envelope=None if value["envHash"] else b"",
        joiner=value["joiner"],
        remainder=value["remainder"],
        env_hash=value["envHash"],
        sha256=value["sha256"],
        is_text=value["isText"],
    )


def _to_map(record: TurnRecord) -> dict[str, object]:
    return {
        "tableId": record.key.table_id,
        "handNumber": record.key.hand_number,
        "agentId": record.key.agent_id,
        "actionIndex": record.key.action_index,
        "capturedAt": record.captured_at.isoformat(),
        "agentVersionId": record.agent_version_id,
        "knowledge": record.knowledge,
        "prompt": _prompt_map(record.prompt),
        "response": _text(record.response),
        "reasoning": _text(record.reasoning),
        "decision": record.decision,
        "action": record.action,
        "amount": record.amount,
        "adjustments": [[each.rule, each.before, each.after, each.why] for each in record.adjustments],
        "attempts": [_attempt_list(each) for each in record.attempts],
        "model": record.model,
        "provider": record.provider,
        "routing": record.routing,
        "usage": record.usage,
        "costMicros": record.cost_micros,
        "latencyMs": record.latency_ms,
        "error": record.error,
        "redactions": dict(record.redactions),
        "clientId": record.client_id,
        "sequence": record.sequence,
        "losses": dict(record.losses),
    }


def _attempt_list(attempt: Attempt) -> list[object]:
    return [
        attempt.status,
        attempt.latency_ms,
        _text(attempt.response),
        _text(attempt.reasoning),
        attempt.error,
    ]


def _attempt(value: Any) -> Attempt:
    status, latency_ms, response, reasoning, error = value
    return Attempt(status, latency_ms, _untext(response), _untext(reasoning), error)


def _from_map(fields: dict[str, Any]) -> TurnRecord:
    return TurnRecord(
        key=TurnKey(fields["tableId"], fields["handNumber"], fields["agentId"], fields["actionIndex"]),
        captured_at=datetime.datetime.fromisoformat(fields["capturedAt"]),
        agent_version_id=fields.get("agentVersionId"),
        knowledge=fields.get("knowledge"),
        prompt=_prompt(fields.get("prompt")),
        response=_untext(fields.get("response")),
        reasoning=_untext(fields.get("reasoning")),
        decision=fields.get("decision"),
        action=fields.get("action"),
        amount=fields.get("amount"),
        adjustments=tuple(Adjustment(*each) for each in fields.get("adjustments") or ()),
        attempts=tuple(_attempt(each) for each in fields.get("attempts") or ()),
        model=fields.get("model"),
        provider=fields.get("provider"),
        routing=fields.get("routing"),
        usage=fields.get("usage"),
        cost_micros=fields.get("costMicros"),
        latency_ms=fields.get("latencyMs"),
        error=fields.get("error"),
        redactions=fields.get("redactions") or {},
        client_id=fields.get("clientId"),
        sequence=fields.get("sequence"),
        losses=fields.get("losses") or {},
    )
