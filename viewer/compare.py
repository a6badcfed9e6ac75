"""The pages that tell why: two turns beside each other, and what people said of turns."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from capture import hands, verdicts
from capture.access import log_access
from capture.auth import SEE, actor_of_user
from capture.limits import VERDICT_PAGE
from capture.merge import HandView
from capture.models import AccessAction, VerdictKind
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id
from capture_sdk.records import TurnKey
from viewer.access import bad_address, framed, staff_page
from viewer.addresses import cursor_address, turn_address
from viewer.templatetags.capture_pages import turn_query
from viewer.templatetags.capture_why import turn_anchor
from viewer.why.judged import judged
from viewer.why.turns import Comparison, Side, previous
from viewer.why.unseen import Witnesses

_NAMES = ("tableId", "handNumber", "agentId", "actionIndex")


@staff_page(SEE)
def compare(request: HttpRequest) -> HttpResponse:
    """One turn against the agent's previous one, or against any other turn that the address names."""
    try:
        key, other = _address(_given(request)), _other_address(request)
    except IdError as exc:
        return bad_address(request, exc)
    view = hands.get_hand_all(key.table_id, key.hand_number)
    found = Comparison(_before(view, key, other), _side(view, key))
    for side in (found.before, found.after):
        if side is not None:
            _log_compared(request, side.key)
    of_hand = verdicts.of_hand(key.table_id, key.hand_number)
    context = {
        "key": key,
        "found": found,
        "judged": judged(key, of_hand, by=request.user.get_username()),
        "is_previous": other is None,
        "not_known": Witnesses(view.turns).not_known(key),
        "others": [turn.key for turn in view.turns if turn.key != key],
    }
    return framed(request, "viewer/compare.html", context, status=200 if found.after.turn else 404)


@staff_page(SEE, method="POST")
def verdict(request: HttpRequest) -> HttpResponse:
    """Take a person's verdict on a turn, and go back to the turn."""
    try:
        key = turn_address(request)
    except IdError as exc:
        return bad_address(request, exc)
    if not _is_known(key):
        return framed(request, "viewer/nothing.html", {"part": "turn", "key": key}, status=404)
    by, note = request.user.get_username(), request.POST.get("note", "")
    try:
        given = verdicts.give(key, request.POST.get("verdict", ""), note=note, by=by)
    except verdicts.VerdictRefused as exc:
        of_hand = verdicts.of_hand(key.table_id, key.hand_number)
        context = {"error": str(exc), "judged": judged(key, of_hand, by=by, note=note), "key": key}
        return framed(request, "viewer/why/refused.html", context, status=400)
    messages.success(request, f"Your verdict on {key.action_index}: {given.kind}")
    return redirect(f"{reverse('viewer:hand')}?{turn_query(key)}#{turn_anchor(key)}")


@staff_page(SEE)
def verdict_list(request: HttpRequest) -> HttpResponse:
    """What people said of turns, newest first, narrowed to a verdict, an agent or a person."""
    try:
        wanted = _wanted(request.GET)
        page = verdicts.latest(wanted, limit=VERDICT_PAGE, cursor=cursor_address(request.GET))
    except IdError as exc:
        return bad_address(request, exc)
    asked = {"verdict": wanted.kind, "agent": wanted.agent_id, "by": wanted.by, "before": page.next_cursor}
    older = urlencode({name: str(each) for name, each in asked.items() if each})
    context = {"page": page, "wanted": wanted, "kinds": VerdictKind.values, "older": older}
    return framed(request, "viewer/why/verdicts.html", context | {"is_first": "before" not in request.GET})


def _given(request: HttpRequest) -> QueryDict:
    """The turn's address; a form carries it as one escaped field, since a browser rewrites line ends in fields."""
    return QueryDict(request.GET["at"]) if "at" in request.GET else request.GET


def _address(given: QueryDict) -> TurnKey:
    """The turn that these fields name. Raises IdError."""
    named = HttpRequest()
    named.GET = QueryDict(given.urlencode())
    return turn_address(named)


def _other_address(request: HttpRequest) -> TurnKey | None:
    """The turn that ``withTableId`` and its like name; what is left out is as in the turn itself. Raises IdError."""
    named = {name: request.GET.get(f"with{name[0].upper()}{name[1:]}", "") for name in _NAMES}
    if not any(named.values()):
        return None
    given = _given(request)
    return _address(QueryDict(urlencode({name: each or given.get(name, "") for name, each in named.items()})))


def _before(view: HandView, key: TurnKey, other: TurnKey | None) -> Side | None:
    if other is not None:
        return _side(view, other)
    turn = previous(view.turns, key)
    return None if turn is None else Side(turn.key, turn)


def _side(view: HandView, key: TurnKey) -> Side:
    if (key.table_id, key.hand_number) != (view.table_id, view.hand_number):
        return Side(key, hands.find_turn(key))
    return Side(key, next((turn for turn in view.turns if turn.key == key), None))


def _is_known(key: TurnKey) -> bool:
    """Whether the turn is there, or was by the ledger: a page that was opened in time may be answered later."""
    view, turn = hands.get_turn(key)
    charged = [each.key for each in view.missing] + [each.key for each in view.fallbacks]
    return turn is not None or key in charged


def _wanted(given: QueryDict) -> verdicts.VerdictFilter:
    kind, agent, by = (given.get(name, "") for name in ("verdict", "agent", "by"))
    if kind and kind not in VerdictKind.values:
        raise IdError(f"A verdict is one of {', '.join(VerdictKind.values)}, not {kind[:40]!r}")
    return verdicts.VerdictFilter(
        kind=VerdictKind(kind) if kind else None,
        agent_id=checked_id("Agent id", agent) if agent else None,
        by=checked_id("Person", by) if by else None,
    )


def _log_compared(request: HttpRequest, key: TurnKey) -> None:
    log_access(
        AccessAction.PROMPT,
        actor=actor_of_user(request.user),
        hand=(key.table_id, key.hand_number),
        agents=[key.agent_id],
        action_index=key.action_index,
        detail="compared",
    )
