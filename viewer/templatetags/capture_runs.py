"""The words of the template language that the pages of runs need beside those of ``capture_pages``."""

import hashlib
from collections.abc import Mapping
from typing import Final

from django import template
from django.urls import reverse
from django.utils.html import format_html

from capture.runs.pairing import Moment
from capture_sdk.runs.records import RunKey
from viewer.runs.addresses import run_query as query
from viewer.runs.values import Ref

register = template.Library()

_OWN: Final = ("timeline", "steps")
_COLOURS: Final = {"ok": "ok", "error": "bad", "cancelled": "warn", "unfinished": "warn", "incomplete": "bad"}


@register.simple_tag
def run_query(key: RunKey) -> str:
    """The query string that names a run."""
    return query(key)


@register.simple_tag
def event_query(key: RunKey, event_id: str, field: str = "") -> str:
    """The query string that names an event of a run, and a field of it."""
    return query(key, eventId=event_id, field=field)


@register.simple_tag
def call_query(key: RunKey, call: str) -> str:
    """The query string that names a model call of a run."""
    return query(key, call=call)


@register.simple_tag
def compare_query(key: RunKey, other: RunKey) -> str:
    """The query string that names a run and the one to lay beside it."""
    return query(key, withAgentId=other.agent_id, withRunId=other.run_id)


@register.simple_tag
def ref_query(key: RunKey, ref: Ref) -> str:
    """The query string that names an artifact by an event that refers to it."""
    return query(key, eventId=ref.event_id, sha256=ref.sha256)


@register.simple_tag
def event_link(key: RunKey, event_id: str) -> str:
    """The address at which a run's timeline shows an event."""
    return f"{reverse('viewer:run')}?{query(key, event=event_id)}#{anchor(event_id)}"


@register.simple_tag
def rows_link(
    key: RunKey, view: str, target: str, after: int, call: str = "", other: RunKey | None = None
) -> str:
    """The attributes of a link to another window of a run's rows, which takes this one's place.

    The address follows where the rows are the page's own, and not a part that was opened on it.
    """
    beside = {} if not other else {"withAgentId": other.agent_id, "withRunId": other.run_id}
    address = f"{reverse(view)}?{query(key, call=call, after=after, **beside)}"
    follows = "true" if target in _OWN else "false"
    return format_html(
        'href="{0}#{1}" hx-get="{0}" hx-target="#{1}" hx-swap="outerHTML show:#{1}:top" hx-push-url="{2}"',
        address,
        target,
        follows,
    )


@register.simple_tag
def text_link(address: str, at: int) -> str:
    """The attributes of a link to another window of a text, which takes this one's place."""
    return format_html(
        'href="{0}&from={1}" hx-get="{0}&from={1}" hx-target="closest .window" hx-swap="outerHTML"',
        address,
        at,
    )


@register.filter
def anchor(event_id: str) -> str:
    """An event's place on the page, in characters that need no escaping."""
    return f"event-{hashlib.sha256(event_id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@register.filter
def colour(status: object) -> str:
    """The colour of a status; a word that is none of ours has none."""
    return _COLOURS.get(str(status), "")


@register.filter
def number(moment: Moment) -> int:
    """An event's place in the order of emission, counted from 1."""
    return moment.place + 1


@register.filter
def nth(numbers: Mapping[str, int], event_id: str) -> int | str:
    """An event's number within its run; its id where the run has no such event."""
    return numbers.get(event_id, event_id)


@register.filter
def short(sha256: object) -> str:
    """The beginning of a hash, to tell it from others."""
    return str(sha256)[:12]
