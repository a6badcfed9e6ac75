"""What a request narrows recent hands to."""

from collections.abc import Mapping
from typing import Any, Final

from capture.api.parameters import Parameter, moment, one_of, text
from capture.limits import ID_LENGTH
from capture.recent import HandFilter, StandsOut
from capture_sdk.keys import checked_id

_ID: Final = {"type": "string", "minLength": 1, "maxLength": ID_LENGTH}
_TIME: Final = {"type": "string", "format": "date-time"}


def _filter(name: str, about: str, read: Any, schema: Mapping[str, object]) -> Parameter:
    return Parameter(name, about, read, schema, is_required=False)


FILTERS: Final = (
    _filter("tableId", "Hands of this table.", checked_id, _ID),
    _filter("agentId", "Hands in which this agent was charged.", checked_id, _ID),
    _filter("agentVersionId", "Hands in which this version was charged.", text, {"type": "string"}),
    _filter("model", "Hands in which this model was charged.", text, {"type": "string"}),
    _filter(
        "standsOut",
        "Hands of which at least one turn was this.",
        one_of(*StandsOut),
        {"type": "string", "enum": [str(each) for each in StandsOut]},
    ),
    _filter("since", "Hands whose first charge is of this moment or later.", moment, _TIME),
    _filter("until", "Hands whose first charge is earlier than this moment.", moment, _TIME),
    _filter(
        "pinned",
        "Hands of which a turn is kept, or of which none is.",
        one_of("true", "false"),
        {"type": "string", "enum": ["true", "false"]},
    ),
)


def hand_filter(given: Mapping[str, Any]) -> HandFilter:
    """The filter that read parameters stand for; what is not given stays open."""
    stands_out, pinned = given.get("standsOut"), given.get("pinned")
    return HandFilter(
        table_id=given.get("tableId"),
        agent_id=given.get("agentId"),
        agent_version_id=given.get("agentVersionId"),
        model=given.get("model"),
        stands_out=None if stands_out is None else StandsOut(stands_out),
        since=given.get("since"),
        until=given.get("until"),
        is_pinned=None if pinned is None else pinned == "true",
    )
