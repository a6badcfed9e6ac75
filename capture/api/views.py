"""What the operations do. Each is handed a request that was let in, asks one function and answers."""

from django.http import HttpResponse, HttpResponseNotModified
from django.utils.http import parse_etags

from capture import hands, ingest, metrics, recent
from capture.absence import Why
from capture.access import log_access
from capture.api import openapi, shapes, writing
from capture.api.bodies import read_items
from capture.api.errors import Gone, NotFound, Unavailable
from capture.api.filters import FILTERS, hand_filter
from capture.api.operations import ANYTHING, EVERYBODY, ApiRequest, agent_of, hand_of, operation, turn_of
from capture.api.parameters import ACTION_INDEX, AGENT_ID, CURSOR, HAND, LIMIT
from capture.auth import Scope
from capture.merge import HandView
from capture.models import AccessAction
from capture.pins import pin
from capture_sdk.prompt import PromptStatus


@operation("GET", "hand", Scope.READ_OWN, Scope.READ_ALL, parameters=(*HAND, AGENT_ID), answer="Hand")
def hand(request: ApiRequest) -> HttpResponse:
    """One agent's turns of a hand, with what is missing of them and why."""
    view = hands.get_hand_turns(*hand_of(request), agent_id=agent_of(request))
    _log(request, AccessAction.READ, [agent_of(request)])
    metrics.count_view("hand", view)
    return _answer(writing.dumps_of(view, shapes.hand_json(view)))


@operation("GET", "hand-all", Scope.READ_ALL, parameters=HAND, answer="Hand")
def hand_all(request: ApiRequest) -> HttpResponse:
    """Every agent's turns of a hand, with what is missing of them and why."""
    view = hands.get_hand_all(*hand_of(request))
    _log(request, AccessAction.READ, view.agents)
    metrics.count_view("hand-all", view)
    return _answer(writing.dumps_of(view, shapes.hand_json(view)))


@operation("POST", "promote", Scope.PROMOTE, parameters=(*HAND, AGENT_ID), answer="Pin")
def promote(request: ApiRequest) -> HttpResponse:
    """Keep one agent's turns of a hand. Idempotent, and safe with two at once."""
    agent_id = agent_of(request)
    outcome = pin.promote(*hand_of(request), agent_id=agent_id, by=request.caller.actor)
    _log(request, AccessAction.PIN, [agent_id], detail=outcome.status)
    return _answer(writing.dumps(shapes.pin_json(outcome)))


@operation("POST", "turns", Scope.INGEST, batch="turns", answer="Results")
def turns(request: ApiRequest) -> HttpResponse:
    """Take a batch of turns for the buffer, with a result for each."""
    outcomes = ingest.take_turns(read_items(request, "turns"), caller=request.caller)
    return _answer(writing.dumps(ingest.outcomes_json(outcomes)))


@operation("POST", "charges", Scope.INGEST, batch="charges", answer="Results")
def charges(request: ApiRequest) -> HttpResponse:
    """Take a batch of charges for the ledger, with a result for each."""
    outcomes = ingest.take_charges(read_items(request, "charges"), caller=request.caller)
    return _answer(writing.dumps(ingest.outcomes_json(outcomes)))


@operation("GET", "recent-hands", Scope.READ_ALL, parameters=(LIMIT, CURSOR, *FILTERS), answer="RecentHands")
def recent_hands(request: ApiRequest) -> HttpResponse:
    """The newest hands of the ledger, page by page, narrowed to what is asked for."""
    given = request.given
    page = recent.recent_hands(hand_filter(given), limit=given.get("limit", 50), cursor=given.get("cursor"))
    metrics.count_read("recent-hands", "served")
    return _answer(writing.dumps(shapes.page_json(page)))


@operation(
    "GET",
    "prompt",
    Scope.READ_OWN,
    Scope.READ_ALL,
    parameters=(*HAND, AGENT_ID, ACTION_INDEX),
    answer=ANYTHING,
    headers=("X-Prompt-Sha256", "X-Prompt-Status"),
    statuses=(404, 410),
)
def prompt(request: ApiRequest) -> HttpResponse:
    """The exact bytes of one prompt, with the sha256 that was recorded and how it compares now."""
    turn = hands.find_turn(key := turn_of(request))
    _log(request, AccessAction.PROMPT, [key.agent_id], action_index=key.action_index)
    if turn is None:
        view = hands.get_hand_turns(key.table_id, key.hand_number, agent_id=key.agent_id)
        raise _absence(view, key.action_index)
    found = turn.record.prompt if turn.record is not None else None
    if found is None:
        raise NotFound(f"this turn's prompt is not there: {turn.prompt_unavailable}")
    whole = found.whole()
    if whole is None:
        raise Gone("the prompt's envelope is no longer in the buffer, and was not pinned")
    metrics.count_read("prompt", "served", prompts=[turn.prompt_status])
    return prompt_response(whole, found.sha256, turn.prompt_status)


def prompt_response(whole: bytes, sha256: str, status: PromptStatus) -> HttpResponse:
    """Exact bytes that no browser interprets: an attachment of no particular kind."""
    response = HttpResponse(whole, content_type="application/octet-stream")
    response["X-Prompt-Sha256"] = sha256
    response["X-Prompt-Status"] = status.value  # plain strings: WSGI refuses their subclasses
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = 'attachment; filename="prompt.bin"'
    return response


@operation("GET", "openapi.json", *EVERYBODY, answer="OpenApi", statuses=(304,))
def description(request: ApiRequest) -> HttpResponse:
    """This description: OpenAPI 3.1, the same from both doors."""
    document = openapi.written()
    known = {etag.removeprefix("W/") for etag in parse_etags(request.headers.get("If-None-Match", ""))}
    is_known = not known.isdisjoint({document.etag, "*"})
    response = (
        HttpResponseNotModified()
        if is_known
        else HttpResponse(document.body, content_type="application/json")
    )
    response["ETag"] = document.etag
    response["Cache-Control"] = "private, no-cache"  # ask again each time: the ETag makes that cheap
    return response


def _log(
    request: ApiRequest,
    action: AccessAction,
    agents: list[str],
    *,
    action_index: int | None = None,
    detail: str = "",
) -> None:
    log_access(
        action,
        actor=request.caller.actor,
        hand=hand_of(request),
        agents=agents,
        action_index=action_index,
        detail=detail,
    )


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


def _answer(content: bytes) -> HttpResponse:
    return HttpResponse(content, content_type="application/json")
