"""The JSON shapes of runs. As in ``shapes``, values stand in them as they were recorded."""

from collections.abc import Sequence
from datetime import datetime

from capture.api.shapes import Json, sources_json, time_json
from capture.runs.branching import BranchPoint, PlaceUse, Reason
from capture.runs.keeping import KeptRun
from capture.runs.listing import RunPage
from capture.runs.quality import Line, Report
from capture.runs.run import Run, RunHead
from capture_sdk.runs.records import RunEvent


def run_page_json(page: RunPage) -> Json:
    """The answer of ``runs``."""
    return {
        "runs": [head_json(head) for head in page.runs],
        "nextCursor": page.next_cursor,
        "agentsLeftOut": page.agents_left_out,
        "sources": sources_json(buffer_ok=page.buffer_ok, durable_ok=page.durable_ok),
    }


def head_json(head: RunHead) -> Json:
    """A run as a list shows it."""
    return {
        "agentId": head.key.agent_id,
        "runId": head.key.run_id,
        "name": head.name,
        "project": head.project,
        "service": head.service,
        "status": head.status,
        "state": head.state,
        "beganAt": _time_or_null(head.began_at),
        "lastAt": _time_or_null(head.last_at),
        "lastedMs": head.lasted_ms,
        "expiresAt": _time_or_null(head.expires_at),
        "hand": None if head.hand is None else {"tableId": head.hand[0], "handNumber": head.hand[1]},
        "counts": dict(head.counts),
    }


def run_json(run: Run, events: Sequence[RunEvent], next_after: str | None) -> Json:
    """The answer of ``run``: its head, and some of its events."""
    return {
        **head_json(run.head),
        "events": [event_json(event) for event in events],
        "nextAfter": next_after,
        "total": len(run.events),
        "kept": run.kept,
        "gaps": [
            {"writer": gap.writer, "first": gap.first, "last": gap.last, "isLost": gap.lost}
            for gap in run.gaps
        ],
        "damaged": list(run.damaged),
        "losses": dict(run.losses or {}),
        "wentOnAt": _time_or_null(run.went_on_at),
        "sources": sources_json(buffer_ok=run.buffer_ok, durable_ok=run.durable_ok),
    }


def event_json(event: RunEvent) -> Json:
    """One event, its body thawed; references to artifacts stay references."""
    return {
        "eventId": event.event_id,
        "kind": str(event.kind),
        "at": time_json(event.at),
        "writer": event.writer,
        "sequence": event.sequence,
        "parentId": event.parent_id,
        "redactions": dict(event.redactions),
        "policy": event.policy,
        "losses": dict(event.losses),
        "body": event.fields,
    }


def kept_run_json(kept: KeptRun) -> Json:
    """The answer of ``run/keep``."""
    return {"status": kept.status, "inserted": kept.inserted, "total": kept.total, "missing": kept.missing}


def quality_json(run: Run, report: Report, *, is_cut: bool) -> Json:
    """The answer of ``run/quality``."""
    branching = report.branching
    return {
        "agentId": run.head.key.agent_id,
        "runId": run.head.key.run_id,
        "met": report.met,
        "notMet": report.not_met,
        "lines": [_line_json(line) for line in report.lines],
        "branchPoints": [_point_json(point) for point in branching.points],
        "places": [_place_json(place) for place in branching.places],
        "warnings": [_reason_json(reason) for reason in branching.warnings],
        "isCut": is_cut,
        "sources": sources_json(buffer_ok=run.buffer_ok, durable_ok=run.durable_ok),
    }


def _line_json(line: Line) -> Json:
    return {
        "code": line.code,
        "title": line.title,
        "state": line.state,
        "reason": line.reason,
        "lacks": [{"eventId": lack.event_id, "what": lack.what} for lack in line.lacks],
        "count": line.count,
        "asked": line.asked,
    }


def _point_json(point: BranchPoint) -> Json:
    return {
        "eventId": point.event_id,
        "name": point.name,
        "place": point.place,
        "verdict": point.verdict,
        "reasons": [_reason_json(reason) for reason in point.reasons],
    }


def _reason_json(reason: Reason) -> Json:
    return {
        "verdict": reason.verdict,
        "text": reason.text,
        "events": list(reason.events),
        "count": reason.count,
    }


def _place_json(place: PlaceUse) -> Json:
    return {
        "place": place.place,
        "letsTest": place.lets_test,
        "events": list(place.events),
        "count": place.count,
    }


def _time_or_null(moment: datetime | None) -> str | None:
    return None if moment is None else time_json(moment)
