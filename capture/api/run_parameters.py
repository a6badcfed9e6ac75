"""What a request about runs names, and what a list of them is narrowed to."""

from collections.abc import Mapping
from typing import Any, Final

from capture.api.parameters import (
    AGENT_ID,
    ID_SCHEMA,
    MOMENT_SCHEMA,
    Parameter,
    between,
    index,
    moment,
    one_of,
    text,
)
from capture.limits import RUN_EVENTS_PAGE, RUN_PAGE
from capture.runs.listing import CURSOR_PATTERN, read_cursor
from capture.runs.run import RunState, RunStatus
from capture.runs.wanted import RunFilter
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id

_TEXT: Final = {"type": "string"}


def _optional(name: str, about: str, read: Any, schema: Mapping[str, object]) -> Parameter:
    return Parameter(name, about, read, schema, is_required=False)


def _sha256(name: str, given: object) -> str:
    if not isinstance(given, str) or len(given) != 64 or set(given) - set("0123456789abcdef"):
        raise IdError(f"{name} must be a sha256 in 64 small hex digits, not {str(given)[:80]!r}")
    return given


def _hand(name: str, given: object) -> tuple[str, int]:
    table_id, _, number = text(name, given).rpartition(":")
    return checked_id(name, table_id), index(name, number)


def _cursor(name: str, given: object) -> str:
    said = text(name, given)
    try:
        read_cursor(said)
    except ValueError:
        raise IdError(f"{name} must be the nextCursor of a page, not {said[:40]!r}") from None
    return said


RUN_ID: Final = Parameter("runId", "The run's id.", checked_id, ID_SCHEMA)
EVENT_ID: Final = Parameter("eventId", "The event's id.", checked_id, ID_SCHEMA)
SHA256: Final = Parameter(
    "sha256",
    "The artifact's hash, as the event refers to it.",
    _sha256,
    {"type": "string", "pattern": "^[0-9a-f]{64}$"},
)
RUN: Final = (AGENT_ID, RUN_ID)
EVENTS_PAGE: Final = (
    _optional("after", "The nextAfter of the page before: an event's id.", checked_id, ID_SCHEMA),
    _optional(
        "limit",
        "How many events at most; 1000 unless given.",
        between(1, RUN_EVENTS_PAGE),
        {"type": "integer", "minimum": 1, "maximum": RUN_EVENTS_PAGE},
    ),
)
RUN_FILTERS: Final = (
    _optional("agentId", "Runs of this agent. Without it, of all.", checked_id, ID_SCHEMA),
    _optional("name", "Runs of just this name.", text, _TEXT),
    _optional("nameBegins", "Runs whose name begins so.", text, _TEXT),
    _optional("project", "Runs of this project.", text, _TEXT),
    _optional("service", "Runs of this service.", text, _TEXT),
    _optional(
        "status",
        "Runs that ended so.",
        one_of(*RunStatus),
        {"type": "string", "enum": [str(each) for each in RunStatus]},
    ),
    _optional(
        "state",
        "Runs whose events are there.",
        one_of(*RunState),
        {"type": "string", "enum": [str(each) for each in RunState]},
    ),
    _optional("kind", "Runs with at least one event of this kind.", checked_id, ID_SCHEMA),
    _optional("since", "Runs that were active at this moment or later.", moment, MOMENT_SCHEMA),
    _optional("until", "Runs that were active last before this moment.", moment, MOMENT_SCHEMA),
    _optional(
        "hand",
        "Runs that name this hand: table id and hand number, with a colon between.",
        _hand,
        {"type": "string", "pattern": "^[^\\x00]{1,200}:[0-9]{1,18}$"},
    ),
    _optional(
        "limit",
        "How many runs at most; 50 unless given.",
        between(1, RUN_PAGE),
        {"type": "integer", "minimum": 1, "maximum": RUN_PAGE},
    ),
    _optional(
        "cursor",
        "The nextCursor of the page before.",
        _cursor,
        {"type": "string", "pattern": f"^{CURSOR_PATTERN}$"},
    ),
)


def run_filter(given: Mapping[str, Any]) -> RunFilter:
    """The filter that read parameters stand for; what is not given stays open."""
    status, state = given.get("status"), given.get("state")
    return RunFilter(
        name=given.get("name"),
        name_begins=given.get("nameBegins"),
        project=given.get("project"),
        service=given.get("service"),
        status=None if status is None else RunStatus(status),
        state=None if state is None else RunState(state),
        kind=given.get("kind"),
        since=given.get("since"),
        until=given.get("until"),
        hand=given.get("hand"),
    )
