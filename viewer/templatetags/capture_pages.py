"""The few words the pages need of the template language."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from capture.checking import Checked
from capture.limits import FIND_COUNTED, SHOWN_AGENTS, SHOWN_VALUE
from capture_sdk.records import TurnKey
from viewer import visible as showing
from viewer.addresses import hand_query as hand_address_query
from viewer.addresses import turn_query as turn_address_query

register = template.Library()


@register.filter
def visible(text: str | bytes) -> Iterable[showing.Piece]:
    """A recorded text in pieces, its invisible characters marked."""
    return showing.pieces(text)


@register.filter
def plain(value: object) -> str:
    """A recorded name or value in one line, its invisible characters by their code points, shortened with its size."""
    if value is None:
        return ""
    text = value if isinstance(value, str | bytes) else str(value)
    if len(text) <= SHOWN_VALUE:
        return showing.plain(text)
    return f"{showing.plain(text[:SHOWN_VALUE])}… ({len(text):,} characters)"


@register.filter
def names(agents: Sequence[str]) -> str:
    """The names of a hand's agents, the first of them where they are many."""
    first = ", ".join(showing.plain(agent) for agent in agents[:SHOWN_AGENTS])
    left = len(agents) - SHOWN_AGENTS
    return f"{first} and {left:,} more" if left > 0 else first


@register.filter
def matches(count: int) -> str:
    """How often something stands in a text, in words."""
    if count > FIND_COUNTED:
        return f"over {FIND_COUNTED:,} matches"
    return "1 match" if count == 1 else f"{count:,} matches"


_MOST_SHOWN: Final = 10**15  # what a float divides without an error, and a reader takes in


@register.filter
def duration(milliseconds: int | None) -> str:
    """A time left, in the two largest units that matter."""
    minutes = (milliseconds or 0) // 60_000
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if minutes else "less than a minute"


@register.filter
def money(micros: object) -> str:
    """Micro-units as money; a cost that is not known is a dash, never zero."""
    number = _number(micros)
    return number if isinstance(number, str) else f"${number / 1_000_000:,.4f}"


@register.filter
def seconds(milliseconds: object) -> str:
    """A latency, in seconds from one second on."""
    number = _number(milliseconds)
    if isinstance(number, str):
        return number
    return f"{number:.0f} ms" if number < 1_000 else f"{number / 1_000:.2f} s"


@register.filter
def percent(share: float | None) -> str:
    """A share as a percentage; a dash where there is nothing that it is a share of."""
    return "–" if share is None else f"{share:.1%}"


@register.filter
def grouped(value: object) -> str:
    """A count with its thousands apart; a dash for what is none."""
    number = _number(value)
    return number if isinstance(number, str) else f"{number:,}"


@register.filter
def checks(found: Mapping[int, Checked]) -> dict[str, int]:
    """What the checks of several hands add up to."""
    every = list(found.values())
    sums = {
        name: sum(getattr(each, name) for each in every) for name in ("verified", "unverified", "missing")
    }
    return {"hands": len(every), **sums}


@register.filter
def at(found: Mapping[int, Checked], number: int) -> Checked | None:
    """The check of one hand, None where it was not come to."""
    return found.get(number)


def _number(value: object) -> int | float | str:
    """A recorded number; a dash for what is none, since an agent may have said anything at all."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–"
    return value if not abs(value) > _MOST_SHOWN else "over 10^15"


@register.simple_tag
def hand_query(table_id: str, hand_number: int) -> str:
    """The query string that names a hand."""
    return hand_address_query(table_id, hand_number)


@register.simple_tag
def turn_query(key: TurnKey, part: str = "") -> str:
    """The query string that names a turn, and a part of it."""
    return turn_address_query(key, part)


@register.simple_tag
def window_link(key: TurnKey, part: str, find: str, at: int) -> str:
    """The attributes of a link to another window of a text, which takes this one's place."""
    where = {"from": str(at)} | ({"find": find} if find else {})
    address = f"{reverse('viewer:text')}?{turn_query(key, part)}&{urlencode(where)}"
    return format_html('href="{0}" hx-get="{0}" hx-target="closest .window" hx-swap="outerHTML"', address)
