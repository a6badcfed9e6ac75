"""A run's timeline: a row for each thing that happened, in the order of emission, a window of them at a time. Pure.

A call or an execution is one row, at its beginning; what it led to has rows of its own, so that no order is lost. The
first finish of each is told in its row, everything else has a row: an end that ends nothing, a kind that nobody knows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from capture.limits import RUN_ROWS
from capture.runs.branching import BranchPoint
from capture.runs.pairing import Execution, ModelCall, Moment, Paired, Proposal, Span
from capture_sdk.runs.records import EventKind, Status
from capture_sdk.usage import TokenCounts, token_counts
from viewer.runs.paging import Paging
from viewer.runs.values import Values, values

_DEPTH: Final = 6  # how far rows are set in; what lies deeper stands there too
_LINE: Final[Mapping[str, tuple[str, ...]]] = {
    EventKind.RUN_STARTED: ("name", "project", "service", "hand"),
    EventKind.RUN_RESUMED: ("isPart",),
    EventKind.RUN_LEFT: ("status",),
    EventKind.RUN_FINISHED: ("status",),
    EventKind.EVENT: ("name",),
    EventKind.CHECKPOINT: ("name", "place", "isWhole"),
    EventKind.MODEL_CALL_STARTED: ("provider", "model", "operation"),
    EventKind.MODEL_CALL_FINISHED: ("call", "status"),
    EventKind.TOOL_PROPOSED: ("name", "callId", "call"),
    EventKind.TOOL_DENIED: ("proposal", "reason", "by"),
    EventKind.TOOL_STARTED: ("name", "callId", "proposal", "sideEffect"),
    EventKind.TOOL_FINISHED: ("execution", "status"),
    EventKind.CONTEXT_ANNOTATED: ("kind", "path", "visibility", "provenance", "call"),
}  # what a row's line says; the rest is folded
_WANTED: Final[Mapping[str, tuple[str, ...]]] = {
    EventKind.MODEL_CALL_STARTED: ("request",),
    EventKind.MODEL_CALL_FINISHED: ("output",),
    EventKind.TOOL_PROPOSED: ("arguments",),
    EventKind.TOOL_STARTED: ("arguments",),
    EventKind.TOOL_FINISHED: ("output",),
    EventKind.CHECKPOINT: ("state",),
}  # what is said to be not captured where it is absent
_TEMPLATES: Final[Mapping[str, str]] = {
    EventKind.MODEL_CALL_STARTED: "call",
    EventKind.TOOL_PROPOSED: "proposal",
    EventKind.TOOL_STARTED: "execution",
    EventKind.CHECKPOINT: "checkpoint",
    EventKind.CONTEXT_ANNOTATED: "annotation",
}


@dataclass(frozen=True)
class Row:
    """One thing that happened. ``span`` is what it began, ``proposal`` what it proposed or denied.

    ``is_loose``: it ends or denies something that is not there. ``point`` is a checkpoint's verdict.
    """

    moment: Moment
    depth: int = 0
    span: Span | None = None
    proposal: Proposal | None = None
    is_loose: bool = False
    point: BranchPoint | None = None

    @property
    def template(self) -> str:
        """The template of its line."""
        return f"viewer/runs/_{_TEMPLATES.get(self.moment.kind, 'plain')}.html"

    @property
    def finish(self) -> Moment | None:
        """The end that is told in the row."""
        return self.span.finish if self.span is not None else None

    @property
    def call(self) -> ModelCall | None:
        """The model call that it began."""
        return self.span if isinstance(self.span, ModelCall) else None

    @property
    def execution(self) -> Execution | None:
        """The tool's execution that it began."""
        return self.span if isinstance(self.span, Execution) else None

    @cached_property
    def tokens(self) -> TokenCounts:
        """What the provider counted for a model call."""
        return token_counts(self.finish.fields.get("usage") if self.finish is not None else None)

    @property
    def error(self) -> str | None:
        """What went wrong, in a line."""
        told = (self.finish or self.moment).fields.get("error")
        if isinstance(told, dict):
            return ": ".join(str(told[name]) for name in ("type", "message") if told.get(name)) or "error"
        return None if told is None else str(told)

    @property
    def stream(self) -> Mapping[str, Any] | None:
        """How a streamed answer came."""
        told = self.finish.fields.get("stream") if self.finish is not None else None
        return told if isinstance(told, dict) else None

    @property
    def folded(self) -> list[Values]:
        """What is opened on demand: of the event, and of its end."""
        return [_folded(each) for each in (self.moment, self.finish) if each is not None]

    @property
    def lacking(self) -> list[str]:
        """What could have been captured and was not."""
        return [
            name
            for each in (self.moment, self.finish)
            if each is not None and each.is_readable and each.fields.get("status", Status.OK) == Status.OK
            for name in _WANTED.get(each.kind, ())
            if name not in each.fields
        ]


class Timeline:
    """All rows of a run, made when they are shown."""

    def __init__(self, paired: Paired, points: Iterable[BranchPoint] = ()) -> None:
        spans: list[Span] = [*paired.calls, *paired.executions]
        told = {span.finish.event_id for span in spans if span.finish is not None}
        self._moments = [each for each in paired.moments if each.event_id not in told]
        self._numbers = {each.event_id: number for number, each in enumerate(self._moments)}
        self._spans = {span.event_id: span for span in spans}
        self._starts = {span.finish.event_id: span.event_id for span in spans if span.finish is not None}
        self._proposals = {each.event_id: each for each in paired.proposals}
        self._proposals |= {denial.event_id: each for each in paired.proposals for denial in each.denials}
        self._every = {each.event_id: each for each in paired.moments}
        self._points = {each.event_id: each for each in points}
        self._loose = {each.event_id for each in paired.loose}

    def __len__(self) -> int:
        return len(self._moments)

    def number(self, event_id: str) -> int | None:
        """The row that tells of an event; None where the run has no such event."""
        return self._numbers.get(self._starts.get(event_id, event_id))

    def page(self, after: int = 0, *, event_id: str | None = None) -> Paging[Moment]:
        """The window of rows from ``after`` on, or that in which the event stands."""
        number = self.number(event_id) if event_id is not None else None
        return Paging(self._moments, after if number is None else number // RUN_ROWS * RUN_ROWS)

    def rows(self, page: Paging[Moment]) -> list[Row]:
        """A window's rows, made to be shown."""
        return [self._row(each) for each in page.rows]

    def marked(self, event_id: str | None) -> str | None:
        """The event whose row tells of this one."""
        number = self.number(event_id) if event_id is not None else None
        return None if number is None else self._moments[number].event_id

    def _row(self, moment: Moment) -> Row:
        event_id = moment.event_id
        return Row(
            moment,
            self._depth(moment),
            self._spans.get(event_id),
            self._proposals.get(event_id),
            is_loose=event_id in self._loose,
            point=self._points.get(event_id),
        )

    def _depth(self, moment: Moment) -> int:
        """How many events it happened in, by what they say; ids that go round in a circle end at the deepest."""
        depth, above = 0, self._above(moment)
        while above is not None and depth < _DEPTH:
            depth, above = depth + 1, self._above(above)
        return depth

    def _above(self, moment: Moment) -> Moment | None:
        found = self._every.get(moment.event.parent_id or "")
        return None if found is None or found.kind == EventKind.RUN_STARTED else found


def _folded(moment: Moment) -> Values:
    return values(moment.event_id, moment.fields, but=_LINE.get(moment.kind, ()))
