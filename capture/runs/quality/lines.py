"""The lines of the quality report: what each asks of a run, and how an answer is put."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from capture.limits import REPORT_EVENTS


class LineState(StrEnum):
    """The answer to one line."""

    MET = "met"
    NOT_MET = "not_met"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class Lack:
    """What is missing, and of which event; None where it is of the run."""

    event_id: str | None
    what: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line answered. ``lacks`` are the first of them, ``count`` all; ``asked`` is of how many things it asked."""

    code: str
    title: str
    state: LineState
    reason: str
    lacks: tuple[Lack, ...]
    count: int
    asked: int


@dataclass(frozen=True, slots=True)
class Check:
    """What a line asks: its title, of what (in the plural), and why it may not apply."""

    code: str
    title: str
    of: str
    none: str

    def answer(self, asked: int, lacks: Sequence[Lack]) -> Line:
        """Met where nothing lacks, and not applicable where there was nothing to ask."""
        if lacks:
            state, reason = LineState.NOT_MET, self._lacking(asked, lacks)
        elif asked:
            state, reason = LineState.MET, f"Nothing is missing ({self.of}: {asked:,})."
        else:
            state, reason = LineState.NOT_APPLICABLE, self.none
        return Line(self.code, self.title, state, reason, tuple(lacks[:REPORT_EVENTS]), len(lacks), asked)

    def _lacking(self, asked: int, lacks: Sequence[Lack]) -> str:
        events = len({each.event_id for each in lacks if each.event_id is not None})
        if not events:
            return f"{len(lacks):,} things are missing." if len(lacks) > 1 else "One thing is missing."
        return f"Something is missing ({self.of}: {events:,} of {asked:,})."


_NO_CALLS: Final = "The run has no model call."
_NO_TOOLS: Final = "The run proposed and executed no tool."
_NO_EXECUTIONS: Final = "The run executed no tool."

NAMES: Final = Check("names", "Names and metadata", "events that have names", "The run has no event.")
PROVIDER: Final = Check("call.provider", "Provider of each model call", "model calls", _NO_CALLS)
MODEL: Final = Check("call.model", "Model of each model call", "model calls", _NO_CALLS)
OPERATION: Final = Check("call.operation", "Operation of each model call", "model calls", _NO_CALLS)
REQUEST: Final = Check("call.request", "Request of each model call", "model calls", _NO_CALLS)
RESPONSE: Final = Check("call.response", "Response of each model call", "model calls", _NO_CALLS)
SETTINGS: Final = Check("call.settings", "Settings of each model call", "model calls", _NO_CALLS)
USAGE: Final = Check(
    "call.usage", "Usage of each model call", "answered model calls", "No model call was answered."
)
ERROR: Final = Check(
    "call.error", "Error of each failed model call", "failed model calls", "No model call failed."
)
PROPOSAL: Final = Check("tool.proposal", "A proposal for each execution", "executions", _NO_EXECUTIONS)
EXECUTION: Final = Check(
    "tool.execution", "An execution, or a denial, for each proposal", "proposals", "The run proposed no tool."
)
OUTCOME: Final = Check("tool.outcome", "Outcome of each execution", "executions", _NO_EXECUTIONS)
SIDE_EFFECT: Final = Check("tool.side_effect", "Side-effect classes deliberate", "executions", _NO_EXECUTIONS)
DEFINITION: Final = Check("tool.definition", "Tool schemas and descriptions", "tools", _NO_TOOLS)
CONTEXT: Final = Check(
    "context.annotated",
    "Retrieval and memory annotated",
    "items of retrieval or memory",
    "Nothing tells that the run retrieved or remembered: what was not annotated looks like any other text.",
)
BEFORE_DECISION: Final = Check(
    "checkpoint.decision",
    "A checkpoint before the first meaningful decision",
    "first decisions",
    "The run decided nothing: no tool, and no answer.",
)
BEFORE_EFFECT: Final = Check(
    "checkpoint.side_effect",
    "A checkpoint before each side effect",
    "executions that may have side effects",
    "No execution has side effects.",
)
REDACTION: Final = Check("redaction", "Redaction before leaving", "events", "The run has no event.")
STREAMS: Final = Check("streams", "Streams fully consumed", "streams", "The run recorded no stream.")
FINISHED: Final = Check("finished", "The run finished", "runs", "The run has no event.")
COMPLETE: Final = Check("complete", "Nothing lost", "events", "The run has no event.")

CHECKS: Final = (
    *(NAMES, PROVIDER, MODEL, OPERATION, REQUEST, RESPONSE, SETTINGS, USAGE, ERROR),
    *(PROPOSAL, EXECUTION, OUTCOME, SIDE_EFFECT, DEFINITION, CONTEXT),
    *(BEFORE_DECISION, BEFORE_EFFECT, REDACTION, STREAMS, FINISHED, COMPLETE),
)
