"""One run: its head, its timeline a window at a time, and the keeping of it."""

from collections.abc import Callable, Mapping

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from capture.access import log_run_access
from capture.auth import KEEP, SEE, actor_of_user
from capture.hands import StoresUnavailable
from capture.limits import RUN_REPORTED_EVENTS
from capture.models import AccessAction
from capture.pins.pin import PinDamaged, PinStatus
from capture.runs.branching import branching
from capture.runs.keeping import KeptRun, keep_run
from capture.runs.pairing import Paired, pair
from capture.runs.reading import RunMissing, read_run
from capture.runs.run import Run
from capture_sdk.errors import IdError
from capture_sdk.runs.records import EventKind, RunKey
from viewer.access import bad_address, framed, staff_page
from viewer.runs import heads
from viewer.runs.addresses import after_address, event_address, given_of, run_address, run_query
from viewer.runs.listing import left_ms
from viewer.runs.timeline import Timeline
from viewer.runs.values import values
from viewer.visible import plain

RunView = Callable[[HttpRequest, Run], HttpResponse]


def read(request: HttpRequest, show: RunView, *, detail: str = "") -> HttpResponse:
    """Read the run that the address names, log it, and show it; a run that is not there is told as what it is."""
    try:
        key = run_address(given_of(request))
    except IdError as exc:
        return bad_address(request, exc, what="run")
    log_run_access(AccessAction.READ_RUN, key, actor=actor_of_user(request.user), detail=detail)
    try:
        found = read_run(key)
    except RunMissing as missing:
        return framed(request, "viewer/runs/missing.html", {"key": key, "missing": missing}, status=404)
    try:
        return show(request, found)
    except IdError as exc:
        return bad_address(request, exc, what="run")


@staff_page(SEE)
def run(request: HttpRequest) -> HttpResponse:
    """One run: what it is made of, what stands out, and its timeline."""
    return read(request, _shown)


def _shown(request: HttpRequest, found: Run) -> HttpResponse:
    after = after_address(request.GET)
    event_id = event_address(request.GET, "event") if "event" in request.GET else None
    paired = pair(found.events)
    branches = branching(paired, gaps=found.gaps, damaged=found.damaged)
    timeline = Timeline(paired, branches.points)
    page = timeline.page(after, event_id=event_id)
    context: dict[str, object] = {"run": found, "key": found.head.key, "page": page, "named": event_id}
    context |= {"rows": timeline.rows(page), "marked": timeline.marked(event_id)}
    if request.headers.get("HX-Request") == "true":
        return framed(request, "viewer/runs/_timeline.html", context)
    started = next((each for each in paired.frame if each.kind == EventKind.RUN_STARTED), None)
    context |= {
        "paired": paired,
        "branching": branches,
        "safe_points": sum(each.is_safe for each in branches.points),
        "started": values(started.event_id, started.fields, but=("name",)) if started is not None else None,
        "sentence": heads.completeness(found),
        "is_reported": len(found.events) <= RUN_REPORTED_EVENTS,
        "recorded": heads.recorded(found),
        "tokens": heads.tokens(paired),
        "stands_out": heads.stands_out(paired),
        "left_ms": left_ms(found.head),
        "ttl_ms": settings.CAPTURE_TTL_SECONDS * 1_000,
        "may_keep": request.user.has_perm(KEEP),
    }
    return framed(request, "viewer/runs/run.html", context)


@staff_page(KEEP, method="POST")
def keep(request: HttpRequest) -> HttpResponse:
    """Keep this run, and say exactly what happened."""
    try:
        key = run_address(request.GET)
    except IdError as exc:
        return bad_address(request, exc, what="run")
    try:
        kept = keep_run(key, by=actor_of_user(request.user))
    except (StoresUnavailable, PinDamaged) as exc:
        messages.error(request, f"Not kept: {plain(key.run_id)}, {exc}")
    else:
        messages.add_message(request, *outcome_message(key, kept))
    return redirect(f"{reverse('viewer:run')}?{run_query(key)}")


def outcome_message(key: RunKey, kept: KeptRun) -> tuple[int, str]:
    """What a keeping did, with the weight the message deserves. It begins with a word of ours, as a hand's does."""
    if kept.status is PinStatus.NOTHING_TO_CAPTURE:
        return messages.WARNING, f"Nothing to keep of {plain(key.run_id)}: no event of it is there"
    events = f"{kept.inserted:,} event{'' if kept.inserted == 1 else 's'}"
    new = f"Kept {events} of {plain(key.run_id)}" if kept.inserted else f"Already kept: {plain(key.run_id)}"
    said = f"{new}, {kept.total:,} in all"
    if kept.missing:
        return messages.WARNING, f"{said}; {kept.missing:,} events or artifacts of it are missing"
    return messages.SUCCESS, said


def numbers(paired: Paired) -> Mapping[str, int]:
    """Each event's place in the order of emission, counted from 1."""
    return {each.event_id: each.place + 1 for each in paired.moments}
