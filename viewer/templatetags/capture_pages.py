"""The few words the pages need of the template language."""

from collections.abc import Iterable

from django import template
from django.utils.http import urlencode

from capture_sdk.records import TurnKey
from viewer import visible as showing
from viewer.addresses import hand_query as hand_address_query

register = template.Library()


@register.filter
def visible(text: str | bytes) -> Iterable[showing.Piece]:
    """A recorded text in pieces, its invisible characters marked."""
    return showing.pieces(text)


@register.filter
def plain(value: object) -> str:
    """A recorded name or value in one line, its invisible characters by their code points."""
    return "" if value is None else showing.plain(value if isinstance(value, str | bytes) else str(value))


@register.filter
def duration(milliseconds: int | None) -> str:
    """A time left, in the two largest units that matter."""
    minutes = (milliseconds or 0) // 60_000
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if minutes else "less than a minute"


@register.filter
def money(micros: int | None) -> str:
    """Micro-units as money; a cost that is not known is a dash, never zero."""
    return "–" if micros is None else f"${micros / 1_000_000:,.4f}"


@register.filter
def seconds(milliseconds: float | None) -> str:
    """A latency, in seconds from one second on."""
    if milliseconds is None:
        return "–"
    return f"{milliseconds:.0f} ms" if milliseconds < 1_000 else f"{milliseconds / 1_000:.2f} s"


@register.simple_tag
def hand_query(table_id: str, hand_number: int) -> str:
    """The query string that names a hand."""
    return hand_address_query(table_id, hand_number)


@register.simple_tag
def turn_query(key: TurnKey, part: str = "") -> str:
    """The query string that names a turn, and a part of it."""
    where = {"agentId": key.agent_id, "actionIndex": str(key.action_index)} | ({"part": part} if part else {})
    return f"{hand_address_query(key.table_id, key.hand_number)}&{urlencode(where)}"
