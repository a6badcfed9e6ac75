"""The links to a hand's turns, two for each: a page has hundreds, and a template takes ten times as long for them."""

import datetime
from collections.abc import Iterator, Sequence
from typing import Final

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from viewer.present import Row
from viewer.templatetags.capture_pages import money, plain, seconds

register = template.Library()

_LEADS: Final = 'href="{0}" data-leads="{1}" hx-get="{0}" hx-target="#shown" hx-push-url="true"{2}'
_CELL: Final = (
    '<a class="cell c{colour} {kind}" {leads} title="{who}: {action} ({kind})">{index}'
    '<span class="visually-hidden"> {who}, {kind}</span></a>'
)
_ENTRY: Final = (
    '<li><a {leads}><span class="n c{colour}">{index}</span> '
    "<span>{who} <b>{action}</b> <small>{facts}</small></span> {chip}</a></li>"
)
_CURRENT: Final = SafeString(' aria-current="true"')


@register.simple_tag
def cells(rows: Sequence[Row], shown: Row | None) -> SafeString:
    """A stretch of the strip: a cell for each turn."""
    return format_html_join("\n", _CELL, _links(rows, shown))


@register.simple_tag
def entries(rows: Sequence[Row], shown: Row | None) -> SafeString:
    """The list: a line for each turn."""
    said = zip(_links(rows, shown), rows, strict=True)
    return format_html_join(
        "\n", _ENTRY, (link | {"facts": _facts(row), "chip": _chip(row)} for link, row in said)
    )


def _links(rows: Sequence[Row], shown: Row | None) -> Iterator[dict[str, object]]:
    page = reverse("viewer:hand")
    for row in rows:
        current = _CURRENT if shown is not None and row.key == shown.key else ""
        yield {
            "leads": format_html(_LEADS, f"{page}?{row.query}", row.anchor, current),
            "colour": row.colour,
            "kind": row.kind,
            "who": plain(row.key.agent_id),
            "action": plain(row.action),
            "index": row.key.action_index,
        }


def _facts(row: Row) -> str:
    if row.turn is not None:
        version = plain(row.turn.agent_version_id or "no version")
        latency = row.record.latency_ms if row.record is not None else None
        return f"{version} · {seconds(latency)} · {money(row.cost_micros)}"
    if row.fallback is not None:
        return plain(row.fallback.fallback_reason)
    charged = row.charge.charged_at if row.charge is not None else None
    return f"charged at {charged.astimezone(datetime.UTC):%H:%M:%S}, no capture" if charged else "no capture"


def _chip(row: Row) -> str:
    said = {"clamped": ("bad", "CLAMPED"), "fallback": ("warn", "FALLBACK")}
    if row.missing is not None:
        said["missing"] = ("warn", row.missing.reason.upper())
    return format_html('<span class="chip {}">{}</span>', *said[row.kind]) if row.kind in said else ""
