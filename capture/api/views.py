"""The endpoints. Each reads its request, asks one function and answers."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse

from capture import hands, ingest, pin, recent
from capture.api import shapes
from capture.api.bodies import read_items
from capture.api.errors import Gone, NoKey, NotFound, Unavailable
from capture.api.filters import filter_of
from capture.api.requests import ServiceRequest, agent_of, endpoint, hand_of, number_of, turn_of
from capture.auth import Scope, find_key
from capture.limits import RECENT_HANDS
from capture.merge import HandView, Why
from capture_sdk.prompt import PromptStatus


@endpoint("GET", Scope.READ_OWN, Scope.READ_ALL)
def hand(request: ServiceRequest) -> HttpResponse:
    """One agent's turns of a hand."""
    table_id, hand_number = hand_of(request)
    return _json(shapes.hand_json(hands.get_hand_turns(table_id, hand_number, agent_id=agent_of(request))))


@endpoint("GET", Scope.READ_ALL)
def hand_all(request: ServiceRequest) -> HttpResponse:
    """Every agent's turns of a hand."""
    return _json(shapes.hand_json(hands.get_hand_all(*hand_of(request))))


@endpoint("POST", Scope.PROMOTE)
def promote(request: ServiceRequest) -> HttpResponse:
    """Pin one agent's turns of a hand."""
    table_id, hand_number = hand_of(request)
    outcome = pin.promote(table_id, hand_number, agent_id=agent_of(request), by=f"key:{request.key.name}")
    return _json(shapes.pin_json(outcome))


@endpoint("POST", Scope.INGEST, is_batch=True)
def turns(request: ServiceRequest) -> HttpResponse:
    """Take a batch of turns for the buffer."""
    return _json(ingest.outcomes_json(ingest.take_turns(read_items(request, "turns"), key=request.key)))


@endpoint("POST", Scope.INGEST, is_batch=True)
def charges(request: ServiceRequest) -> HttpResponse:
    """Take a batch of charges for the ledger."""
    return _json(ingest.outcomes_json(ingest.take_charges(read_items(request, "charges"), key=request.key)))


@endpoint("GET", Scope.READ_ALL)
def recent_hands(request: ServiceRequest) -> HttpResponse:
    """The newest hands of the ledger, page by page."""
    limit = number_of(request, "limit", default=50, most=RECENT_HANDS)
    cursor = number_of(request, "cursor", default=None, most=2**63 - 1)
    return _json(
        shapes.page_json(recent.recent_hands(filter_of(request.params), limit=limit or 50, cursor=cursor))
    )


@endpoint("GET", Scope.READ_OWN, Scope.READ_ALL)
def prompt(request: ServiceRequest) -> HttpResponse:
    """The exact bytes of one prompt, with the sha256 that was recorded and how it compares now."""
    view, turn = hands.get_turn(key := turn_of(request))
    if turn is None:
        raise _absence(view, key.action_index)
    found = turn.record.prompt if turn.record is not None else None
    if found is None:
        raise NotFound(f"this turn's prompt is not there: {turn.prompt_unavailable}")
    whole = found.whole()
    if whole is None:
        raise Gone("the prompt's envelope is no longer in the buffer, and was not pinned")
    return prompt_response(whole, found.sha256, turn.prompt_status)


def prompt_response(whole: bytes, sha256: str, status: PromptStatus) -> HttpResponse:
    """Exact bytes that no browser interprets: an attachment of no particular kind."""
    response = HttpResponse(whole, content_type="application/octet-stream")
    response["X-Prompt-Sha256"] = sha256
    response["X-Prompt-Status"] = status.value  # plain strings: WSGI refuses their subclasses
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = 'attachment; filename="prompt.bin"'
    return response


def unknown(request: HttpRequest, path: str = "") -> HttpResponse:
    """Whatever else is asked for below the API's path: refused without a key, else not found."""
    if find_key(request.headers.get("X-Service-Key", "")) is None:
        return NoKey("a valid key is needed in the header X-Service-Key").response()
    return NotFound(f"there is no endpoint {path!r}").response()


def _absence(view: HandView, action_index: int) -> NotFound | Gone | Unavailable:
    """Why there is no such captured turn, as an error: never captured, no longer there, or not known."""
    reasons = {each.key.action_index: each.reason for each in view.missing}
    reason = reasons.get(action_index)
    if reason in (Why.GONE, Why.EXPIRED):
        return Gone(f"this turn is {reason}: it was in the buffer and was not pinned")
    if reason in (Why.BUFFER_UNAVAILABLE, Why.DURABLE_UNAVAILABLE) or not (
        view.buffer_ok and view.durable_ok
    ):
        return Unavailable("a store is unavailable, so this turn may be there and cannot be read")
    return NotFound("this turn was not captured" + (": its client lost it" if reason is Why.LOST else ""))


def _json(content: shapes.Json) -> JsonResponse:
    return JsonResponse(content, status=HTTPStatus.OK, json_dumps_params={"allow_nan": False})
