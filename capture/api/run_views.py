"""What the operations about runs do."""

from django.http import HttpResponse

from capture import ingest, metrics
from capture.access import log_run_access
from capture.api import run_shapes, writing
from capture.api.bodies import read_items
from capture.api.errors import Gone, NotFound, Unavailable
from capture.api.operations import ANYTHING, ApiRequest, agent_of, operation
from capture.api.run_parameters import EVENT_ID, EVENTS_PAGE, RUN, RUN_FILTERS, SHA256, run_filter
from capture.auth import Scope
from capture.models import AccessAction
from capture.runs.inventory import inventory
from capture.runs.keeping import keep_run
from capture.runs.pairing import pair
from capture.runs.quality import report
from capture.runs.reader import Reader
from capture.runs.reading import (
    ArtifactUnreferenced,
    RunAbsence,
    RunMissing,
    list_runs,
    read_artifact,
    read_run,
)
from capture.runs.run import Run
from capture_sdk.runs.records import RunEvent, RunKey


@operation("POST", "runs/events", Scope.INGEST, batch="events", answer="Results")
def run_events(request: ApiRequest) -> HttpResponse:
    """Take a batch of events of runs for the buffer, with a result for each."""
    outcomes = ingest.take_events(read_items(request, "events"), caller=request.caller)
    return _answer(writing.dumps(ingest.outcomes_json(outcomes)))


@operation("GET", "runs", Scope.READ_OWN, Scope.READ_ALL, parameters=RUN_FILTERS, answer="Runs")
def runs(request: ApiRequest) -> HttpResponse:
    """Runs, those that were active last first, page by page, narrowed to what is asked for."""
    given = request.given
    page = list_runs(
        run_filter(given),
        agent_id=given.get("agentId"),
        limit=given.get("limit", 50),
        cursor=given.get("cursor"),
    )
    metrics.count_read("runs", "served")
    return _answer(writing.dumps(run_shapes.run_page_json(page)))


@operation(
    "GET",
    "run",
    Scope.READ_OWN,
    Scope.READ_ALL,
    parameters=(*RUN, *EVENTS_PAGE),
    answer="Run",
    statuses=(404, 410),
)
def run(request: ApiRequest) -> HttpResponse:
    """One run: its head, and its events in the order of emission, page by page."""
    found = _read(request)
    events, following = _page(found, request.given.get("after"), request.given.get("limit", 1_000))
    metrics.count_read("run", found.head.state)
    return _answer(writing.dumps(run_shapes.run_json(found, events, following)))


@operation("POST", "run/keep", Scope.PROMOTE, parameters=RUN, answer="KeptRun")
def keep(request: ApiRequest) -> HttpResponse:
    """Keep a run with everything that its events refer to. Idempotent, and safe with two at once."""
    return _answer(writing.dumps(run_shapes.kept_run_json(keep_run(_key(request), by=request.caller.actor))))


@operation(
    "GET",
    "run/artifact",
    Scope.READ_OWN,
    Scope.READ_ALL,
    parameters=(*RUN, EVENT_ID, SHA256),
    answer=ANYTHING,
    headers=("X-Artifact-Sha256",),
    statuses=(404, 410),
)
def artifact(request: ApiRequest) -> HttpResponse:
    """The exact bytes of an artifact that an event of the run refers to."""
    event_id, sha256 = request.given["eventId"], request.given["sha256"]
    log_run_access(AccessAction.ARTIFACT, _key(request), actor=request.caller.actor, detail=sha256)
    try:
        data = read_artifact(_key(request), event_id, sha256)
    except ArtifactUnreferenced:
        raise NotFound("no such event of this run refers to this artifact") from None
    if data is None:
        raise Gone("the artifact is no longer there, or is damaged")
    metrics.count_read("run/artifact", "served")
    return artifact_response(data, sha256)


def artifact_response(data: bytes, sha256: str) -> HttpResponse:
    """Exact bytes that no browser interprets: an attachment of no particular kind."""
    response = HttpResponse(data, content_type="application/octet-stream")
    response["X-Artifact-Sha256"] = sha256
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = 'attachment; filename="artifact.bin"'
    return response


@operation(
    "GET",
    "run/quality",
    Scope.READ_OWN,
    Scope.READ_ALL,
    parameters=RUN,
    answer="RunQuality",
    statuses=(404, 410),
)
def quality(request: ApiRequest) -> HttpResponse:
    """Which evidence a run has and which it lacks, line by line, and where a replay can branch off."""
    found = _read(request)
    paired = pair(found.events)
    reader = Reader(paired)
    context = inventory(paired, reader)
    answered = report(
        paired, context, gaps=found.gaps, damaged=found.damaged, losses=found.losses, absent=reader.absent
    )
    metrics.count_read("run/quality", found.head.state)
    return _answer(writing.dumps(run_shapes.quality_json(found, answered, is_cut=context.is_cut)))


def _key(request: ApiRequest) -> RunKey:
    return RunKey(agent_of(request), str(request.given["runId"]))


def _read(request: ApiRequest) -> Run:
    log_run_access(AccessAction.READ_RUN, _key(request), actor=request.caller.actor)
    try:
        return read_run(_key(request))
    except RunMissing as exc:
        raise _absence(exc) from exc


def _absence(missing: RunMissing) -> NotFound | Gone | Unavailable:
    """Why there is no such run, as an error."""
    if missing.why in (RunAbsence.GONE, RunAbsence.EXPIRED):
        return Gone(f"this run is {missing.why}: it was in the buffer and was not kept")
    if missing.why is RunAbsence.UNKNOWN:
        return Unavailable("a store is unavailable, so this run may be there and cannot be read")
    return NotFound("no such run was seen, or it was long ago")


def _page(found: Run, after: str | None, limit: int) -> tuple[tuple[RunEvent, ...], str | None]:
    """Some of the events, and the last one's id where more follow."""
    start = 0
    if after is not None:
        places = (place for place, event in enumerate(found.events, 1) if event.event_id == after)
        start = next(places, -1)
        if start < 0:
            raise NotFound("after names no event of this run", fields={"after": "not there"})
    events = found.events[start : start + limit]
    return events, events[-1].event_id if start + limit < len(found.events) else None


def _answer(content: bytes) -> HttpResponse:
    return HttpResponse(content, content_type="application/json")
