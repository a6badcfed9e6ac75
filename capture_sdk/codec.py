"""The one codec of records, shared by whoever writes a store and whoever reads it.

A record is a version byte followed by a zstd frame (with checksum) of a msgpack map:

    01 frame               stands alone
    02 hash (16) frame     made with a dictionary, the content of which has a sha256 that begins with this hash

A zstd frame read with a wrong dictionary gives wrong bytes without an error: the checksum is what tells.
Unknown map keys are ignored, so an older reader survives a newer writer. The envelope is not in a record: it is
stored once, raw, under its own key; a dictionary is stored compressed.
"""

import datetime
import functools
import hashlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

from capture_sdk.errors import RecordError
from capture_sdk.freeze import repack, unpack
from capture_sdk.prompt import Prompt, bytes_text, text_bytes
from capture_sdk.records import Adjustment, Attempt, RunKey, TurnKey, TurnRecord

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14
except ImportError:
    from backports import zstd

Fields = dict[str, Any]

VERSION: Final = b"\x01"
VERSION_WITH_DICTIONARY: Final = b"\x02"
MAX_RECORD_BYTES: Final = 64 * 1024 * 1024  # a decompressed record beyond this is a bomb, not a turn
_HASH_BYTES: Final = 16  # enough for a name: the frame's checksum tells a wrong dictionary apart as well
_SAMPLES_NEEDED: Final = 8  # zstd makes no tables from fewer
_ROOM_FOR_TABLES: Final = 4_096  # bytes of a dictionary beyond its content

_LEVEL: Final = 1
_LEVEL_WITH_DICTIONARY: Final = 5  # an eighth smaller than level 1 for 30 us more
_LEVEL_OF_DICTIONARY: Final = 9  # paid once for all the turns that share it


def _options(level: int) -> dict[int, int]:
    parameter = zstd.CompressionParameter
    # The dictionary is named before the frame: zstd's own number of it is left out.
    return {parameter.compression_level: level, parameter.checksum_flag: 1, parameter.dict_id_flag: 0}


DictionaryError: Final = zstd.ZstdError  # what making a dictionary may raise
FrameError: Final = zstd.ZstdError  # what reading a frame may raise


class Dictionary:
    """An earlier record, ready to compress later ones with. For one thread.

    ``samples`` are records like those to come: from them zstd makes the tables that each small frame would
    otherwise bring along.
    """

    def __init__(self, record: bytes, samples: Sequence[bytes] = ()) -> None:
        raw = zstd.ZstdDict(record, is_raw=True)
        examples = [*samples, record] * (1 if samples else _SAMPLES_NEEDED)
        made = zstd.finalize_dict(raw, examples, len(record) + _ROOM_FOR_TABLES, _LEVEL_WITH_DICTIONARY)
        content: bytes = made.dict_content
        self.hash = _hash(content)
        self.zstd = made
        # Kept: a compressor built anew for each turn costs more than its work.
        self.compressor = zstd.ZstdCompressor(
            options=_options(_LEVEL_WITH_DICTIONARY), zstd_dict=self.zstd.as_digested_dict
        )
        self.stored: bytes = zstd.compress(content, options=_options(_LEVEL_OF_DICTIONARY))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).digest()[:_HASH_BYTES].hex()


def encode(record: TurnRecord) -> bytes:
    """Write a record for a store, without its envelope; it stands alone."""
    return frame(packed(record))


def packed(record: TurnRecord) -> bytes:
    """The msgpack map of a record, not yet compressed."""
    return repack(_to_map(record))


def frame(content: bytes) -> bytes:
    """Compress a packed record that stands alone."""
    return VERSION + compress(content)


def frame_with(dictionary: Dictionary, content: bytes) -> bytes:
    """Compress a packed record with a dictionary, which its reader will need."""
    compressor = dictionary.compressor
    body: bytes = compressor.compress(content, compressor.FLUSH_FRAME)
    return VERSION_WITH_DICTIONARY + bytes.fromhex(dictionary.hash) + body


def dictionary_hash(data: bytes) -> str | None:
    """The hash (hex) of the dictionary that a stored record needs, if it needs one."""
    if data[:1] != VERSION_WITH_DICTIONARY:
        return None
    return data[1 : 1 + _HASH_BYTES].hex()


def decode(data: bytes, envelope: bytes | None = None, *, dictionary: bytes | None = None) -> TurnRecord:
    """Read what ``encode`` or ``frame_with`` wrote, putting ``envelope`` back in its place.

    ``dictionary`` is the stored blob that ``dictionary_hash`` names. Raises RecordError for anything that is not
    such a record, a damaged one or one without its dictionary included.
    """
    return build(fields_of(unframe(data, dictionary)), envelope)


def fields_of(content: bytes) -> Fields:
    """The map within a packed record. Raises RecordError."""
    try:
        fields = unpack(content)
    except ValueError as exc:
        raise RecordError(f"the record is damaged: {type(exc).__name__}") from exc
    if not isinstance(fields, dict):
        raise RecordError("the record is not a map")
    return fields


def envelope_hash(fields: Fields) -> str | None:
    """The hash of the envelope that a record's prompt begins with, if it has one."""
    prompt = fields.get("prompt")
    return prompt.get("envHash") if isinstance(prompt, dict) else None


def build(fields: Fields, envelope: bytes | None) -> TurnRecord:
    """The record that a map stands for, its envelope in its place. Raises RecordError."""
    try:
        return _from_map(fields, envelope)
    except (ValueError, KeyError, TypeError, OverflowError) as exc:
        raise RecordError(f"the record is damaged: {type(exc).__name__}") from exc


def unframe(data: bytes, dictionary: bytes | None = None) -> bytes:
    """The packed record within stored bytes. Raises RecordError."""
    needed = dictionary_hash(data)
    if needed is None:
        if data[:1] != VERSION:
            raise RecordError(f"record version {data[:1].hex() or 'missing'} is not known")
        return decompress(data[1:], MAX_RECORD_BYTES)
    if dictionary is None:
        raise RecordError("the record's dictionary has gone")
    return decompress(data[1 + _HASH_BYTES :], MAX_RECORD_BYTES, _opened(dictionary, needed))


@functools.lru_cache(maxsize=32)
def _opened(stored: bytes, needed: str) -> Any:
    """A dictionary ready to read with: a hand's turns share one, and opening it costs more than a turn."""
    content = decompress(stored, MAX_RECORD_BYTES)
    if _hash(content) != needed:
        raise RecordError("the record's dictionary is damaged")
    return zstd.ZstdDict(content)


def standalone(data: bytes, dictionary: bytes | None) -> bytes:
    """The same record, no longer in need of its dictionary: for a store that must be complete by itself."""
    return data if dictionary_hash(data) is None else frame(unframe(data, dictionary))


def compress(data: bytes) -> bytes:
    """zstd level 1, with a checksum: also used for envelopes at rest in Postgres."""
    compressor = _compressors.zstd
    body: bytes = compressor.compress(data, compressor.FLUSH_FRAME)
    return body


def decompress(data: bytes, limit: int, dictionary: Any = None) -> bytes:
    """Undo ``compress``, refusing to grow beyond ``limit`` bytes. Raises RecordError."""
    try:
        decompressor = zstd.ZstdDecompressor(zstd_dict=dictionary)
        out: bytes = decompressor.decompress(data, max_length=limit + 1)
    except zstd.ZstdError as exc:
        raise RecordError("the frame is damaged") from exc
    if len(out) > limit:
        raise RecordError(f"the record is larger than {limit} bytes")
    if not decompressor.eof:
        raise RecordError("the frame is cut short")
    return out


class FrameReader:
    """Undoes zstd piece by piece, for whoever must stop in the middle of a frame that grows too large."""

    def __init__(self) -> None:
        # 8 MiB, as HTTP's zstd allows (RFC 9659): a frame cannot ask for more memory than that.
        window = {zstd.DecompressionParameter.window_log_max: 23}
        self._zstd = zstd.ZstdDecompressor(options=window)

    @property
    def is_whole(self) -> bool:
        """Whether the frame has ended."""
        return bool(self._zstd.eof)

    def feed(self, data: bytes, at_most: int) -> Iterator[bytes]:
        """What these bytes add, in pieces of at most so many bytes. Raises FrameError."""
        while not self._zstd.eof:
            yield self._zstd.decompress(data, max_length=at_most)
            if self._zstd.needs_input:
                return
            data = b""


class _Compressors(threading.local):
    """One compressor a thread: they are not thread-safe, and building one costs more than using it."""

    def __init__(self) -> None:
        self.zstd = zstd.ZstdCompressor(options=_options(_LEVEL))


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
        "sha256": bytes.fromhex(prompt.sha256),  # half the size, and no compressor finds that out
        "isText": prompt.is_text,
        "isMessages": prompt.is_messages,
    }


def _hex(value: str | bytes) -> str:
    """A digest as it is written now, or as the first records had it."""
    return value.hex() if isinstance(value, bytes) else value


def _prompt(value: Any, envelope: bytes | None) -> Prompt | None:
    if value is None:
        return None
    return Prompt(
        envelope=envelope if value["envHash"] else b"",
        joiner=value["joiner"],
        remainder=value["remainder"],
        env_hash=value["envHash"],
        sha256=_hex(value["sha256"]),
        is_text=value["isText"],
        is_messages=value.get("isMessages", False),
    )


def _to_map(record: TurnRecord) -> dict[str, object]:
    run = {} if record.run is None else {"run": [record.run.agent_id, record.run.run_id]}
    return run | {
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
        "unsent": record.unsent,
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
        "policy": record.policy,
        "rewritten": list(record.rewritten),
        "cut": list(record.cut),
        "artifacts": dict(record.artifacts),
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


def _from_map(fields: Fields, envelope: bytes | None) -> TurnRecord:
    return TurnRecord(
        key=TurnKey(fields["tableId"], fields["handNumber"], fields["agentId"], fields["actionIndex"]),
        captured_at=datetime.datetime.fromisoformat(fields["capturedAt"]),
        agent_version_id=fields.get("agentVersionId"),
        knowledge=fields.get("knowledge"),
        prompt=_prompt(fields.get("prompt"), envelope),
        response=_untext(fields.get("response")),
        reasoning=_untext(fields.get("reasoning")),
        decision=fields.get("decision"),
        unsent=fields.get("unsent"),
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
        policy=fields.get("policy"),
        rewritten=tuple(fields.get("rewritten") or ()),
        cut=tuple(fields.get("cut") or ()),
        artifacts=fields.get("artifacts") or {},
        client_id=fields.get("clientId"),
        sequence=fields.get("sequence"),
        losses=fields.get("losses") or {},
        run=RunKey(*fields["run"]) if fields.get("run") else None,
    )
