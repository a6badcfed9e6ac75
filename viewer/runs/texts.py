"""The long texts of a run: an artifact, or a field of an event, a window at a time, and an artifact's exact bytes."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from capture.access import log_run_access
from capture.auth import SEE, actor_of_user
from capture.models import AccessAction
from capture.runs.reading import ArtifactUnreferenced, read_artifact
from capture.runs.run import Run
from capture_sdk.errors import IdError
from capture_sdk.runs.records import RunKey
from viewer import parts
from viewer.access import bad_address, framed, staff_page
from viewer.addresses import find_address, place_address
from viewer.runs.addresses import event_address, given_of, run_address, run_query, sha256_address
from viewer.runs.layout import is_json, laid_out
from viewer.runs.page import read
from viewer.runs.values import text_of
from viewer.windows import line_start, window

_LAYOUT = "layout"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An artifact, and the event that refers to it."""

    key: RunKey
    event_id: str
    sha256: str

    @property
    def query(self) -> str:
        return run_query(self.key, eventId=self.event_id, sha256=self.sha256)


@staff_page(SEE)
def artifact(request: HttpRequest) -> HttpResponse:
    """One artifact, a window of it; JSON can be laid out for reading, and is said to be."""
    try:
        wanted = _wanted(request)
        find_address(request.GET), place_address(request.GET)
    except IdError as exc:
        return bad_address(request, exc, what="run")
    context = {"key": wanted.key, "event_id": wanted.event_id, "sha256": wanted.sha256, "raw": wanted.query}
    found, why = _opened(request, wanted, "")
    if found is None:
        context |= {"why": why}
        is_part = request.headers.get("HX-Request") == "true"
        name = "viewer/runs/_not_there.html" if is_part else "viewer/runs/not_there.html"
        return framed(request, name, context, status=200 if is_part else 404)
    return _text(
        request, found, reverse("viewer:run_artifact"), wanted.query, context | {"label": "Artifact"}
    )


@staff_page(SEE, is_compressed=False)
def raw(request: HttpRequest) -> HttpResponse:
    """One artifact, byte for byte, to download."""
    try:
        wanted = _wanted(request)
    except IdError as exc:
        return bad_address(request, exc, what="run")
    found, why = _opened(request, wanted, "download")
    if found is None:
        context = {"key": wanted.key, "event_id": wanted.event_id, "sha256": wanted.sha256, "why": why}
        return framed(request, "viewer/runs/not_there.html", context, status=404)
    return parts.download(found, f"{wanted.sha256[:16]}.bin")


@staff_page(SEE)
def event(request: HttpRequest) -> HttpResponse:
    """An event's body as JSON, or one field of it, a window of it."""
    return read(request, _event, detail="event")


def _event(request: HttpRequest, found: Run) -> HttpResponse:
    given = given_of(request)
    event_id, field = event_address(given), given.get("field", "")
    find_address(request.GET), place_address(request.GET)
    key = found.head.key
    meant = next((each for each in found.events if each.event_id == event_id), None)
    fields = meant.fields if meant is not None else {}
    context: dict[str, object] = {"key": key, "event_id": event_id, "event": meant, "field": field}
    if meant is None or (field and field not in fields):
        return framed(request, "viewer/runs/not_there.html", context, status=404)
    text = text_of(fields[field] if field else fields).encode("utf-8", "surrogatepass")
    query = run_query(key, eventId=event_id, field=field)
    return _text(request, text, reverse("viewer:run_event"), query, context | {"label": field or meant.kind})


def _text(
    request: HttpRequest, text: bytes, path: str, query: str, context: dict[str, object]
) -> HttpResponse:
    """A window of a text, by itself when the page asks for a part."""
    place, find = place_address(request.GET), find_address(request.GET)
    given = given_of(request)
    can_lay, is_laid = is_json(text), given.get(_LAYOUT) == "json" and is_json(text)
    shown = laid_out(text) if is_laid else text
    at = place.at if place.line is None else line_start(shown, place.line)
    layout = f"&{_LAYOUT}=json" if is_laid else ""
    context |= {
        "window": window(shown, at=at, marked=place.marked, find=find),
        "path": path,
        "at": query + layout,
        "address": f"{path}?{query}{layout}" + (f"&{urlencode({'find': find})}" if find else ""),
        "other_layout": f"{path}?{query}" + ("" if is_laid else f"&{_LAYOUT}=json"),
        "can_lay": can_lay,
        "is_laid": is_laid,
        "find": find,
        "size": len(text),
    }
    is_part = request.headers.get("HX-Request") == "true"
    return framed(request, f"viewer/runs/{'_window' if is_part else 'text'}.html", context)


def _wanted(request: HttpRequest) -> _Wanted:
    given: QueryDict = given_of(request)
    return _Wanted(run_address(given), event_address(given), sha256_address(given))


def _opened(request: HttpRequest, wanted: _Wanted, detail: str) -> tuple[bytes | None, str]:
    """The artifact's bytes, or why there are none."""
    by = actor_of_user(request.user)
    log_run_access(AccessAction.ARTIFACT, wanted.key, actor=by, detail=detail or wanted.sha256[:12])
    try:
        found = read_artifact(wanted.key, wanted.event_id, wanted.sha256)
    except ArtifactUnreferenced:
        return None, "no such event of this run refers to it, or the run is no longer there"
    return found, "it is no longer there, or what is stored of it is damaged"
