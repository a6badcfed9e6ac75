"""From a pinned turn or an envelope to rows of search text, and into the table, whatever the text is."""

import json
from collections.abc import Iterator, Sequence

from django.db import OperationalError, transaction
from psycopg.errors import ProgramLimitExceeded

from capture.ledger import storable
from capture.limits import SEARCH_TEXT_BYTES
from capture.models import AgentCallRecord, AgentSearchText
from capture.pins.walking import stored_record
from capture_sdk.freeze import jsonable, unpack
from capture_sdk.records import TurnRecord

_LEAST_BYTES = 1024  # below this no text is too much for a tsvector


def turn_texts(row: AgentCallRecord) -> list[AgentSearchText]:
    """The rows of one pinned turn. There is always a ``prompt``: an empty one where nothing can be read."""
    record = stored_record(row)
    parts = [("prompt", b"")] if record is None else list(_parts(record))
    return [_text(part, content, record=row) for part, content in parts]


def envelope_text(env_hash: str, body: bytes | None) -> AgentSearchText:
    """The row of one envelope; empty where it is damaged at rest."""
    return _text("envelope", body or b"", env_hash=env_hash)


def insert_texts(texts: Sequence[AgentSearchText]) -> None:
    """Insert rows where there are none yet. A text of too many different words is cut until it fits."""
    if not texts or _fits(texts):
        return
    for text in texts:
        while not _fits([text]):
            _halve(text)


def _fits(texts: Sequence[AgentSearchText]) -> bool:
    """Whether Postgres took them. A tsvector ends at a megabyte of words and places, whatever the text's size."""
    try:
        with transaction.atomic():
            AgentSearchText.objects.bulk_create(texts, ignore_conflicts=True)
    except OperationalError as exc:
        if not isinstance(exc.__cause__, ProgramLimitExceeded):
            raise
        return False
    return True


def _halve(text: AgentSearchText) -> None:
    kept = len(text.text.encode()) // 2
    text.text = _cut(text.text, kept) if kept > _LEAST_BYTES else ""
    text.is_cut = True


def _parts(record: TurnRecord) -> Iterator[tuple[str, str | bytes]]:
    """Each captured part with its text, or its bytes."""
    yield "prompt", record.prompt.remainder if record.prompt is not None else b""
    if record.response is not None:
        yield "response", record.response
    if record.knowledge is not None:
        yield "knowledge", json.dumps(jsonable(unpack(record.knowledge)), ensure_ascii=False)
    if record.reasoning is not None:
        yield "reasoning", record.reasoning


def _text(
    part: str,
    content: str | bytes,
    *,
    record: AgentCallRecord | None = None,
    env_hash: str | None = None,
) -> AgentSearchText:
    # A character has at least one byte: cutting first keeps the work on a prompt of ten megabytes small.
    head = content[:SEARCH_TEXT_BYTES]
    text = head if isinstance(head, str) else head.decode("utf-8", "replace")
    kept = _cut(storable(text), SEARCH_TEXT_BYTES)
    is_cut = len(content) > len(head) or kept != storable(text)
    return AgentSearchText(record=record, env_hash=env_hash, part=part, text=kept, is_cut=is_cut)


def _cut(text: str, limit: int) -> str:
    """The beginning that fits into so many bytes of UTF-8, whole characters only."""
    return text.encode()[:limit].decode("utf-8", "ignore")
