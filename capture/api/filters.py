"""What a request narrows recent hands to, read from the words of its query."""

import datetime
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from capture.api.errors import BadValue
from capture.recent import HandFilter, StandsOut
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id

Value = TypeVar("Value")

_TIME: Final = "ISO 8601 with its offset, such as 2026-01-31T12:00:00Z"


def filter_of(params: Mapping[str, object]) -> HandFilter:
    """The filter that a query asks for; what is not given, or empty, stays open.

    Raises BadValue naming the field, its value and what is wanted.
    """
    return HandFilter(
        table_id=_read(params, "tableId", _id),
        agent_id=_read(params, "agentId", _id),
        agent_version_id=_read(params, "agentVersionId", str),
        model=_read(params, "model", str),
        stands_out=_read(params, "standsOut", StandsOut, wanted=", ".join(StandsOut)),
        since=_read(params, "since", _time, wanted=_TIME),
        until=_read(params, "until", _time, wanted=_TIME),
        is_pinned=_read(params, "pinned", _PINNED.__getitem__, wanted="true or false"),
    )


def _read(
    params: Mapping[str, object], name: str, parse: Callable[[str], Value], *, wanted: str = ""
) -> Value | None:
    given = params.get(name, "")
    if given == "":
        return None
    shown = f"{name} is {str(given)[:40]!r}"
    try:
        return parse(str(given))
    except IdError as exc:
        raise BadValue(f"{shown}: {exc}", fields={name: "not acceptable"}) from exc
    except (ValueError, KeyError, OverflowError) as exc:
        raise BadValue(f"{shown}: {wanted} is wanted", fields={name: f"{wanted} is wanted"}) from exc


def _id(given: str) -> str:
    return checked_id("it", given)


def _time(given: str) -> datetime.datetime:
    """A query writes ``+`` as a blank: ``12:00:00+02:00`` that was not encoded is meant all the same."""
    time = datetime.datetime.fromisoformat(given.replace(" ", "+") if given[-6:-5] == " " else given)
    if time.tzinfo is None:
        raise ValueError("no offset")
    return time.astimezone(datetime.UTC)


_PINNED: Final = {"true": True, "false": False}
