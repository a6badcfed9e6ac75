"""The search page: full text over what is kept, and the turns of the newest hands by what they are."""

from collections.abc import Iterable
from itertools import groupby

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.http import urlencode

from capture.access import log_access
from capture.auth import SEE, actor_of_user
from capture.hands import StoresUnavailable
from capture.limits import SEARCH_PAGE, SEARCH_PENDING_COUNTED
from capture.models import AccessAction
from capture.search.finding import SearchRefused, SearchTooLong, TextPart, find_text
from capture.search.live import Badge, LiveFilter, find_turns
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id
from capture_sdk.records import TurnKey
from viewer.access import bad_address, framed, staff_page
from viewer.addresses import cursor_address

_TEXT = ("q", "agent", "part")
_TURNS = ("agent", "version", "model", "action", "badge")


@staff_page(SEE)
def search(request: HttpRequest) -> HttpResponse:
    """One form and two answers, each with what was not looked through."""
    try:
        said = _said(request.GET)
        context = _kept(said, cursor_address(request.GET)) if "q" in said else {}
        if said.keys() & (set(_TURNS) - {"agent"}) or ("agent" in said and "q" not in said):
            context |= _newest(said)
    except (IdError, SearchRefused) as exc:
        return bad_address(request, exc)
    _log(request, context.pop("keys", []), "kept")
    _log(request, context.pop("newest_keys", []), "newest")
    context |= {
        "said": said,
        "parts": list(TextPart),
        "badges": [(each, each.replace("_", " ")) for each in Badge],
    }
    return framed(request, "viewer/search.html", context)


def _said(given: QueryDict) -> dict[str, str]:
    """What was asked for. Raises IdError naming the field, its value and what is wanted."""
    said = {name: value for name in {*_TEXT, *_TURNS} if (value := given.get(name, "").strip())}
    for name, words in (("part", list(TextPart)), ("badge", list(Badge))):
        if name in said and said[name] not in words:
            raise IdError(f"{name.capitalize()} must be one of {', '.join(words)}, not {said[name][:40]!r}")
    for name in ("agent", "version", "model", "action"):
        if name in said:
            checked_id(name.capitalize(), said[name])
    return said


def _kept(said: dict[str, str], cursor: int | None) -> dict[str, object]:
    part = TextPart(said["part"]) if "part" in said else None
    try:
        found = find_text(said["q"], agent_id=said.get("agent"), part=part, limit=SEARCH_PAGE, cursor=cursor)
    except SearchTooLong as exc:
        return {
            "kept_failed": f"{exc}: too much has these words. Ask for rarer ones, one part, or one agent."
        }
    except StoresUnavailable:
        return {"kept_failed": "the durable store does not answer. What is kept cannot be searched now."}
    older = urlencode(
        {name: said[name] for name in _TEXT if name in said} | {"before": str(found.next_cursor)}
    )
    return {
        "found": found,
        "older": older if found.next_cursor is not None else None,
        "is_first": cursor is None,
        "counted": SEARCH_PENDING_COUNTED,
        "keys": [hit.key for hit in found.hits],
    }


def _newest(said: dict[str, str]) -> dict[str, object]:
    wanted = LiveFilter(
        agent_id=said.get("agent"),
        agent_version_id=said.get("version"),
        model=said.get("model"),
        action=said.get("action"),
        badge=Badge(said["badge"]) if "badge" in said else None,
    )
    try:
        found = find_turns(wanted)
    except StoresUnavailable:
        return {"newest_failed": "the stores do not answer. Newest hands cannot be looked through now."}
    return {"newest": found, "newest_keys": [hit.key for hit in found.hits]}


def _log(request: HttpRequest, keys: object, where: str) -> None:
    """A line for each hand of which something was shown. What was looked for is content, and stands in no log."""
    shown: Iterable[TurnKey] = keys if isinstance(keys, list) else ()
    by_hand = sorted(shown, key=_hand_of)
    for hand, turns in groupby(by_hand, key=_hand_of):
        log_access(
            AccessAction.SEARCH,
            actor=actor_of_user(request.user),
            hand=hand,
            agents=sorted({key.agent_id for key in turns}),
            detail=where,
        )


def _hand_of(key: TurnKey) -> tuple[str, int]:
    return key.table_id, key.hand_number
