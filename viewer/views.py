"""The pages. Each reads its address, asks capture's read door and renders."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from capture import hands, metrics
from capture.access import log_access
from capture.auth import KEEP, SEE, actor_of_user
from capture.checking import check_hands
from capture.figures import buffer_figures, ledger_figures
from capture.limits import CHECK_SECONDS
from capture.models import AccessAction
from capture.pins import pin
from capture.recent import StandsOut, newer_hands, recent_hands
from capture_sdk.errors import IdError
from viewer import parts
from viewer.access import bad_address, framed, staff_page
from viewer.addresses import (
    cursor_address,
    hand_address,
    hand_query,
    newest_address,
    shown_address,
)
from viewer.present import chosen, completeness, rows, span
from viewer.reasons import reasons
from viewer.recents import narrowed
from viewer.strip import streets
from viewer.visible import plain

PAGE = 50


@staff_page(SEE)
def recent(request: HttpRequest) -> HttpResponse:
    """Recent hands, newest first, narrowed to what is asked for, with the look-up form and the last hour's figures."""
    try:
        asked, cursor = narrowed(request.GET), cursor_address(request.GET)
    except IdError as exc:
        return bad_address(request, exc)
    page = recent_hands(asked.wanted, limit=PAGE, cursor=cursor)
    newest = [(each.table_id, each.hand_number, each.agents) for each in page.hands]
    context: dict[str, object] = {"page": page, "asked": asked, "stands_out": list(StandsOut)}
    context |= {"is_first": cursor is None, "cursor": cursor}
    if cursor is None:
        context |= {"ledger": ledger_figures(), "buffer": buffer_figures(newest)}
    if request.GET.get("check") == "1":
        context |= {"checked": check_hands(page.hands, seconds=CHECK_SECONDS)}
    return framed(request, "viewer/recent.html", context)


@staff_page(SEE)
def checked(request: HttpRequest) -> HttpResponse:
    """A part of the list's page: its hands' prompts are hashed after it has come, and what is wrong is added."""
    try:
        asked, cursor = narrowed(request.GET), cursor_address(request.GET)
    except IdError as exc:
        return bad_address(request, exc)
    page = recent_hands(asked.wanted, limit=PAGE, cursor=cursor)
    context = {"page": page, "checked": check_hands(page.hands, seconds=CHECK_SECONDS), "is_part": True}
    return framed(request, "viewer/_checked.html", context)


@staff_page(SEE)
def newer(request: HttpRequest) -> HttpResponse:
    """A part of the list's page: how many hands have come since. What is being read stays where it is."""
    try:
        asked, after = narrowed(request.GET), newest_address(request.GET)
    except IdError as exc:
        return bad_address(request, exc)
    count = newer_hands(asked.wanted, than=after, at_most=PAGE + 1)
    return framed(
        request, "viewer/_newer.html", {"count": count, "most": PAGE, "asked": asked, "after": after}
    )


@staff_page(SEE)
def hand(request: HttpRequest) -> HttpResponse:
    """One hand: the strip, the list, and one turn in full as Knew → Told → Answered → Sent."""
    try:
        table_id, hand_number = hand_address(request.GET)
        key = shown_address(request.GET, (table_id, hand_number))
    except IdError as exc:
        return bad_address(request, exc)
    view = hands.get_hand_all(table_id, hand_number)
    metrics.count_view("viewer:hand", view)
    log_access(
        AccessAction.READ, actor=actor_of_user(request.user), hand=(table_id, hand_number), agents=view.agents
    )
    every = rows(view)
    shown = chosen(every, key)
    context: dict[str, object] = {"view": view, "rows": every, "shown": shown, "named": key}
    context |= {
        "streets": streets(every),
        "sentence": completeness(view),
        "runs_query": urlencode({"hand": f"{table_id}:{hand_number}"}),
        "times": span(every),
        "ttl_ms": settings.CAPTURE_TTL_SECONDS * 1_000,
        "may_keep": request.user.has_perm(KEEP),
    }
    context |= {} if shown is None else reasons(view, shown, by=request.user.get_username())
    is_part = request.headers.get("HX-Request") == "true"
    return framed(request, "viewer/_shown.html" if is_part else "viewer/hand.html", context)


@staff_page(KEEP, method="POST")
def keep(request: HttpRequest) -> HttpResponse:
    """Keep this hand: pin every agent's turns, and say of each exactly what happened."""
    try:
        # From the address, not from fields of the form: a browser would rewrite a line end in those.
        table_id, hand_number = hand_address(request.GET)
    except IdError as exc:
        return bad_address(request, exc)
    by = actor_of_user(request.user)
    for agent_id in hands.get_hand_all(table_id, hand_number).agents:
        try:
            outcome = pin.promote(table_id, hand_number, agent_id=agent_id, by=by)
        except (hands.StoresUnavailable, pin.PinDamaged) as exc:
            messages.error(request, f"Not kept: {plain(agent_id)}, {exc}")
        else:
            log_access(
                AccessAction.PIN,
                actor=by,
                hand=(table_id, hand_number),
                agents=[agent_id],
                detail=outcome.status,
            )
            messages.add_message(request, *parts.outcome_message(plain(agent_id), outcome))
    return redirect(f"{reverse('viewer:hand')}?{hand_query(table_id, hand_number)}")
