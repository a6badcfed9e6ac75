"""The pages of long texts: a prompt in its two parts, any part a window at a time, and the exact bytes of each."""

from django.http import HttpRequest, HttpResponse

from capture import hands
from capture.access import log_access
from capture.api.views import prompt_response
from capture.auth import SEE, actor_of_user
from capture.models import AccessAction
from capture_sdk.errors import IdError
from capture_sdk.records import TurnKey
from viewer import parts
from viewer.access import bad_address, framed, staff_page
from viewer.addresses import find_address, part_address, place_address, turn_address
from viewer.windows import line_start, window

_PREFIXES = {parts.Part.ENVELOPE: "E", parts.Part.REMAINDER: "R"}
_TOLD = (parts.Part.PROMPT, parts.Part.ENVELOPE, parts.Part.REMAINDER)


@staff_page(SEE)
def prompt(request: HttpRequest) -> HttpResponse:
    """One prompt: a part of the hand page when that asks for it, else a page of its own."""
    try:
        key, find = turn_address(request), find_address(request.GET)
    except IdError as exc:
        return bad_address(request, exc)
    view, turn = hands.get_turn(key)
    _log_turn(request, AccessAction.PROMPT, key)
    context: dict[str, object] = {"key": key, "turn": turn, "view": view, "find": find}
    told = turn.record.prompt if turn is not None and turn.record is not None else None
    if turn is not None and told is not None:
        envelope = None if told.envelope is None else window(told.envelope, find=find)
        context |= {"envelope": envelope, "remainder": window(told.remainder, find=find)}
        context |= {"sharing": parts.sharing(view, turn)}
    is_part = request.headers.get("HX-Request") == "true"
    template = "viewer/_prompt.html" if is_part else "viewer/prompt.html"
    return framed(request, template, context, status=200 if turn is not None or is_part else 404)


@staff_page(SEE)
def text(request: HttpRequest) -> HttpResponse:
    """One part of a turn, a window of it: from a byte or a line on, or where something stands in it."""
    try:
        key, part = turn_address(request), part_address(request.GET)
        place, find = place_address(request.GET), find_address(request.GET)
    except IdError as exc:
        return bad_address(request, exc)
    turn = hands.find_turn(key)
    _log_turn(request, AccessAction.PROMPT if part in _TOLD else AccessAction.READ, key, detail=part)
    whole = parts.raw_bytes(turn, part) if turn is not None else None
    if turn is None or whole is None:
        return framed(request, "viewer/nothing.html", {"part": part, "key": key}, status=404)
    at = place.at if place.line is None else line_start(whole, place.line)
    shown = window(whole, at=at, marked=place.marked, find=find)
    context = {"key": key, "turn": turn, "part": part, "find": find, "window": shown}
    context |= {"prefix": _PREFIXES.get(part, "L"), "label": part.capitalize()}
    is_part = request.headers.get("HX-Request") == "true"
    return framed(request, "viewer/_window.html" if is_part else "viewer/text.html", context)


@staff_page(SEE, is_compressed=False)
def raw(request: HttpRequest) -> HttpResponse:
    """One part of a turn as recorded, byte for byte, to download."""
    try:
        key, part = turn_address(request), part_address(request.GET)
    except IdError as exc:
        return bad_address(request, exc)
    turn = hands.find_turn(key)
    _log_turn(request, AccessAction.DOWNLOAD, key, detail=part)
    found = parts.raw_bytes(turn, part) if turn is not None else None
    if turn is None or found is None:
        return framed(request, "viewer/nothing.html", {"part": part, "key": key}, status=404)
    if part is parts.Part.PROMPT and turn.record is not None and turn.record.prompt is not None:
        return prompt_response(found, turn.record.prompt.sha256, turn.prompt_status)
    return parts.download(found, f"{part}.{parts.SUFFIX[part]}")


def _log_turn(request: HttpRequest, action: AccessAction, key: TurnKey, *, detail: str = "") -> None:
    log_access(
        action,
        actor=actor_of_user(request.user),
        hand=(key.table_id, key.hand_number),
        agents=[key.agent_id],
        action_index=key.action_index,
        detail=detail,
    )
