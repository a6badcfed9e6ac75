"""The parameters of the API: how each is read, and what the description says of it, in one place."""

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from capture.limits import ID_LENGTH, RECENT_HANDS
from capture_sdk.errors import IdError
from capture_sdk.keys import INDEX_MAX, checked_id, checked_index

_DIGITS: Final = re.compile(r"([0-9]{1,19})(?:\.0{1,19})?")  # 42.0 is an integer in JSON Schema

Read = Callable[[str, object], Any]

_EXACT_FLOAT: Final = 2**53


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: ``read`` takes its name and what was given, and raises IdError naming both."""

    name: str
    about: str
    read: Read
    schema: Mapping[str, object]
    is_required: bool = True


def index(name: str, given: object) -> int:
    """A whole number from 0 to 2**63 - 1, as a number (JSON) or its digits (a query, or a client without 64 bits)."""
    if isinstance(given, float) and given.is_integer() and abs(given) <= _EXACT_FLOAT:
        given = int(given)  # 42.0 is an integer in JSON; beyond 2**53 nobody knows which one was meant
    if isinstance(given, str):
        digits = _DIGITS.fullmatch(given)
        if digits is None:
            raise IdError(f"{name} must be an integer from 0 to 2**63 - 1, not {given[:40]!r}")
        given = int(digits[1])
    return checked_index(name, given)


def between(least: int, most: int) -> Read:
    """A reader of whole numbers between these two."""

    def read(name: str, given: object) -> int:
        number = index(name, given)
        if not least <= number <= most:
            raise IdError(f"{name} must lie between {least} and {most}, not {number}")
        return number

    return read


def one_of(*words: str) -> Read:
    """A reader of one word among these."""

    def read(name: str, given: object) -> str:
        if given not in words:
            raise IdError(f"{name} must be one of {', '.join(words)}, not {str(given)[:40]!r}")
        return str(given)

    return read


def text(name: str, given: object) -> str:
    """Any text."""
    if not isinstance(given, str):
        raise IdError(f"{name} must be text, not {type(given).__name__}")
    return given


def moment(name: str, given: object) -> datetime.datetime:
    """A moment in ISO 8601 with its offset, in UTC.

    A query writes ``+`` as a blank: ``12:00:00+02:00`` that was not encoded is meant all the same.
    """
    said = str(given)
    wanted = f"a time in ISO 8601 such as 2026-01-31T12:00:00Z, not {said[:40]!r}"
    try:
        read = datetime.datetime.fromisoformat(said.replace(" ", "+") if said[-6:-5] == " " else said)
        moved = read.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        raise IdError(f"{name} must be {wanted}") from None
    if read.tzinfo is None:
        raise IdError(f"{name} names no offset: it must be {wanted}")
    return moved


ID_SCHEMA: Final[dict[str, object]] = {
    "type": "string",
    "minLength": 1,
    "maxLength": ID_LENGTH,
    "pattern": "^[^\\x00]*$",
}
RUN_KEY_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {"agentId": ID_SCHEMA, "runId": ID_SCHEMA},
    "required": ["agentId", "runId"],
    "additionalProperties": False,
}
INDEX_SCHEMA: Final[dict[str, object]] = {"type": "integer", "minimum": 0, "maximum": INDEX_MAX}
_MOST: Final = str(INDEX_MAX)
# The digits of 0 to 2**63 - 1, and of nothing else: as long and smaller at some place, or shorter.
DIGITS_SCHEMA: Final[dict[str, object]] = {
    "type": "string",
    "pattern": "^(?:[0-9]{1,18}|"
    + "".join(
        f"{_MOST[:place]}[0-{int(digit) - 1}][0-9]{{{len(_MOST) - 1 - place}}}|"
        for place, digit in enumerate(_MOST)
        if digit != "0"
    )
    + f"{_MOST})$",
}
# What every clock here takes: no leap second, and an offset that somebody on earth has.
MOMENT_SCHEMA: Final[dict[str, object]] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[12][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?"
    r"(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])$",
    "description": "With its offset.",
}

TABLE_ID: Final = Parameter("tableId", "The table's id.", checked_id, ID_SCHEMA)
HAND_NUMBER: Final = Parameter("handNumber", "The hand's number at its table.", index, INDEX_SCHEMA)
AGENT_ID: Final = Parameter(
    "agentId", "The agent's id. A bound key names one of its own.", checked_id, ID_SCHEMA
)
ACTION_INDEX: Final = Parameter("actionIndex", "The turn's place in its hand.", index, INDEX_SCHEMA)
LIMIT: Final = Parameter(
    "limit",
    "How many hands at most; 50 unless given.",
    between(1, RECENT_HANDS),
    {"type": "integer", "minimum": 1, "maximum": RECENT_HANDS},
    is_required=False,
)
CURSOR: Final = Parameter(
    "cursor",
    "The nextCursor of the page before.",
    between(1, INDEX_MAX),
    {"type": "integer", "minimum": 1, "maximum": INDEX_MAX},
    is_required=False,
)
HAND: Final = (TABLE_ID, HAND_NUMBER)
