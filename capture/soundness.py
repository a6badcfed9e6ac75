"""Whether stored bytes are a record that every reader can work with: they come from a file, or have lain for years.

The codec tells a damaged frame. A frame that is whole may still hold a map that no SDK wrote; here each field is held
against the kinds of value that it can have, and the frozen ones are thawed once.
"""

import datetime
import re
from typing import Any, Final

from capture_sdk.codec import decode, dictionary_hash
from capture_sdk.errors import IdError, RecordError
from capture_sdk.freeze import unpack
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.prompt import Prompt
from capture_sdk.records import Attempt, TurnRecord

DIGEST: Final = re.compile(r"[0-9a-f]{64}")  # a sha256 as it is written everywhere

_PLAIN: Final = (str, int, float)
_EITHER: Final = (str, bytes)
_WANTED: Final[dict[str, tuple[type, ...]]] = {
    "agent_version_id": (str,),
    "knowledge": (bytes,),
    "response": _EITHER,
    "reasoning": _EITHER,
    "decision": (bytes,),
    "unsent": (bytes,),
    "action": _PLAIN,
    "amount": _PLAIN,
    "model": (str,),
    "provider": (str,),
    "routing": (str,),
    "usage": (bytes,),
    "cost_micros": _PLAIN,
    "latency_ms": _PLAIN,
    "error": (str,),
    "redactions": (dict,),
    "policy": (str,),
    "artifacts": (dict,),
    "client_id": (str,),
    "sequence": (int,),
    "losses": (dict,),
}
_LISTS: Final = ("decision", "unsent")
_FROZEN: Final = ("knowledge", "decision", "unsent", "usage")


def sound_record(data: bytes, envelope: bytes | None = None) -> TurnRecord:
    """Decode a record that stands alone, and look at every field of it. Raises as ``check_sound``."""
    if dictionary_hash(data) is not None:
        raise RecordError("the record needs a dictionary that is not there")
    record = decode(data, envelope)
    check_sound(record)
    return record


def check_sound(record: TurnRecord) -> None:
    """Look at every field. Raises RecordError, naming it, for anything that a reader would stumble over."""
    _check_key(record)
    check_time(record.captured_at)
    for name, kinds in _WANTED.items():
        _check(name, getattr(record, name), kinds)
    _check_lists(record)
    _check_prompt(record.prompt)
    for name in _FROZEN:
        _thaw(name, getattr(record, name))


def _check(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if value is not None and not isinstance(value, kinds):
        raise RecordError(f"the record's {name} is of no kind it can have: {type(value).__name__}")


def _check_key(record: TurnRecord) -> None:
    key = record.key
    try:
        checked_id("tableId", key.table_id)
        checked_index("handNumber", key.hand_number)
        checked_id("agentId", key.agent_id)
        checked_index("actionIndex", key.action_index)
    except IdError as exc:
        raise RecordError(f"the record's key is not accepted: {exc}") from exc


def check_time(time: datetime.datetime) -> None:
    """Raise RecordError for a time that UTC cannot be written in, as in year 1 or 9999, or that names no offset."""
    if time.tzinfo is None:
        raise RecordError("the record's time names no offset")
    try:
        time.astimezone(datetime.UTC)
    except (OverflowError, ValueError) as exc:
        raise RecordError("the record's time is outside of every calendar") from exc


def _check_lists(record: TurnRecord) -> None:
    for name in (*record.rewritten, *record.cut):
        _check("rewritten and cut", name, (str,))
    for name, counts in (("losses", record.losses), ("redactions", record.redactions)):
        for word, count in counts.items():
            _check(name, word, (str,))
            _check_count(name, count)
    if record.sequence is not None:
        _check_count("sequence", record.sequence)
    for step in record.adjustments:
        _check("adjustments", step.rule, _PLAIN)
        _check("adjustments", step.why, (str,))
    for name, body in record.artifacts.items():
        _check("artifacts", name, (str,))
        _check("artifacts", body, (bytes,))
    for attempt in record.attempts:
        _check_attempt(attempt)


def _check_count(name: str, value: Any) -> None:
    if value is None or isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RecordError(f"the record's {name} is no count")


def _check_attempt(attempt: Attempt) -> None:
    _check("attempts", attempt.status, _PLAIN)
    _check("attempts", attempt.latency_ms, _PLAIN)
    _check("attempts", attempt.response, _EITHER)
    _check("attempts", attempt.reasoning, _EITHER)
    _check("attempts", attempt.error, (str,))


def _check_prompt(prompt: Prompt | None) -> None:
    if prompt is None:
        return
    if not isinstance(prompt.joiner, bytes) or not isinstance(prompt.remainder, bytes):
        raise RecordError("the record's prompt is not bytes")
    for digest in (prompt.env_hash, prompt.sha256):
        if digest is not None and not (isinstance(digest, str) and DIGEST.fullmatch(digest)):
            raise RecordError("the record's prompt names a hash that is no sha256")


def _thaw(name: str, frozen: bytes | None) -> None:
    if frozen is None:
        return
    try:
        thawed = unpack(frozen)
    except ValueError as exc:
        raise RecordError(f"the record's {name} is damaged") from exc
    if name in _LISTS and not isinstance(thawed, list):
        raise RecordError(f"the record's {name} is no list of messages")
