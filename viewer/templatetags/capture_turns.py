"""The links to a hand's turns, two for each: a page has hundreds, and a template takes ten times as long for them."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from viewer.present import Row
from viewer.templatetags.capture_pages import money, plain, seconds

register = template.Library()

_LEADS: Final = 'href="{url}" data-leads="{anchor}" hx-get="{url}" hx-target="#shown" hx-push-url="true"'
_CELL: Final = (
    '<a class="cell c{colour} {kind}" '
    + _LEADS
    + '{current} title="{who}: {action} ({kind})">{index}<span class="visually-hidden"> {who}, {kind}</span></a>'
)
_ENTRY: Final = (
    "<li><a "
    + _LEADS
    + '{current}><span class="n c{colour}">{index}</span> <span>{who} <b>{action}</b> <small>{facts}</small></span> '
    "{chip}</a></li>"
)
_CHIP: Final = '<span class="chip {tone}">{word}</span>'
_CURRENT: Final = ' aria-current="true"'


@register.simple_tag
def cells(rows: Sequence[Row], shown: Row | None) -> SafeString:
    """A stretch of the strip: a cell for each turn."""
    page = reverse("viewer:hand")
    return SafeString("\n".join(_filled(_CELL, _link(row, page), _current(row, shown)) for row in rows))


@register.simple_tag
def entries(rows: Sequence[Row], shown: Row | None) -> SafeString:
    """The list: a line for each turn."""
    return SafeString("\n".join(_entries(rows, shown)))


def _entries(rows: Sequence[Row], shown: Row | None) -> Iterator[str]:
    page = reverse("viewer:hand")
    for row in rows:
        markup = _current(row, shown) | {"chip": _chip(row)}
        yield _filled(_ENTRY, _link(row, page) | {"facts": _facts(row)}, markup)


def _filled(form: str, texts: Mapping[str, object], markup: Mapping[str, str]) -> str:
    """``form`` with the texts, each escaped, and with markup of our own: what ``format_html`` does, in less time."""
    return form.format(**{name: escape(str(each)) for name, each in texts.items()}, **markup)


def _link(row: Row, page: str) -> dict[str, object]:
    return {
        "url": f"{page}?{row.query}",
        "anchor": row.anchor,
        "colour": row.colour,
        "kind": row.kind,
        "who": plain(row.key.agent_id),
        "action": plain(row.action),
        "index": row.key.action_index,
    }


def _current(row: Row, shown: Row | None) -> dict[str, str]:
    return {"current": _CURRENT if shown is not None and row.key == shown.key else ""}


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
    tone, word = said.get(row.kind, ("", ""))
    return _filled(_CHIP, {"tone": tone, "word": word}, {}) if word else ""
