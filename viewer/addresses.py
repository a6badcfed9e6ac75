"""What a page's address names, read with the same strictness as the API's parameters."""

from dataclasses import dataclass
from functools import lru_cache

from django.http import HttpRequest, QueryDict
from django.utils.http import urlencode

from capture.limits import FIND_LENGTH
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.records import TurnKey
from viewer.parts import Part


def hand_address(given: QueryDict) -> tuple[str, int]:
    """Table and hand number; ``table:42`` pasted into the first field counts as both. Raises IdError."""
    table, number = given.get("tableId", ""), given.get("handNumber", "").strip()
    if not number and ":" in table:
        table, _, number = table.strip().rpartition(":")
    return checked_id("Table id", table), _number("Hand number", number)


def turn_address(request: HttpRequest) -> TurnKey:
    """The four parts of a turn's address. Raises IdError.

    A form carries them as one escaped field ``at``: in fields of their own a browser would rewrite line ends.
    """
    given = QueryDict(request.GET["at"]) if "at" in request.GET else request.GET
    table_id = checked_id("Table id", given.get("tableId", ""))
    agent_id = checked_id("Agent id", given.get("agentId", ""))
    hand_number = _number("Hand number", given.get("handNumber", ""))
    return TurnKey(table_id, hand_number, agent_id, _number("Action index", given.get("actionIndex", "")))


def shown_address(given: QueryDict, hand: tuple[str, int]) -> TurnKey | None:
    """The turn of a hand that is to be shown in full; None where none is named. Raises IdError."""
    if not given.get("agentId") and not given.get("actionIndex"):
        return None
    agent_id = checked_id("Agent id", given.get("agentId", ""))
    return TurnKey(*hand, agent_id, _number("Action index", given.get("actionIndex", "")))


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Where in a text: at a byte, of which on ``marked`` bytes are pointed at, or at a line from 1; None: anywhere."""

    at: int | None
    marked: int
    line: int | None


def place_address(given: QueryDict) -> TextPlace:
    """``from`` and ``bytes``, or ``line``. Raises IdError."""
    at, line = given.get("from", ""), given.get("line", "").strip()
    return TextPlace(
        at=_number("From", at) if at else None,
        marked=_number("Bytes", given.get("bytes", "") or "0"),
        line=_number("Line", line) if line else None,
    )


def part_address(given: QueryDict) -> Part:
    """The part of a turn that is meant, the whole prompt where none is named. Raises IdError."""
    named = given.get("part", Part.PROMPT)
    if named not in list(Part):
        raise IdError(f"Part must be one of {', '.join(Part)}, not {named[:40]!r}")
    return Part(named)


def find_address(given: QueryDict) -> str:
    """What is looked for in a text. Raises IdError."""
    find = given.get("find", "")
    if len(find) > FIND_LENGTH:
        raise IdError(f"What is looked for must have at most {FIND_LENGTH} characters, not {len(find)}")
    return find


def cursor_address(given: QueryDict) -> int | None:
    """Where to go on in the list; None for its beginning. Raises IdError."""
    before = given.get("before", "")
    return _number("Cursor", before) if before else None


def newest_address(given: QueryDict) -> int:
    """The id of the newest hand that a list shows; 0 for an empty one. Raises IdError."""
    return _number("Newest", given.get("after", "0"))


@lru_cache(maxsize=1_024)  # a page names a hand, and each of its agents, a hundred times
def hand_query(table_id: str, hand_number: int) -> str:
    """The query string that names a hand."""
    return urlencode({"tableId": table_id, "handNumber": str(hand_number)})


def turn_query(key: TurnKey, part: str = "") -> str:
    """The query string that names a turn, and a part of it."""
    turn = f"{_agent_query(key.agent_id)}&actionIndex={key.action_index}"
    return f"{hand_query(key.table_id, key.hand_number)}&{turn}" + (
        f"&{urlencode({'part': part})}" if part else ""
    )


@lru_cache(maxsize=1_024)
def _agent_query(agent_id: str) -> str:
    return urlencode({"agentId": agent_id})


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise IdError(f"{name} must be a whole number, not {text[:40]!r}")
    return checked_index(name, int(text))
