"""What a list of runs is narrowed to: asked of Postgres's rows, and of heads that were read. Pure but for the query."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet

from capture.ledger import storable
from capture.limits import ID_LENGTH
from capture.models import AgentRun
from capture.runs.run import RunHead, RunState, RunStatus

_NOT_KEPT: Final = (RunState.LIVE, RunState.EXPIRED, RunState.GONE)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What runs are narrowed to; None leaves a thing open, and all that is given must hold.

    ``since`` (included) and ``until`` (not included) are compared with when the run was active last. ``kind`` is one
    that at least one event must have. ``hand`` is the one that the run names. Names are compared as far as a row of
    Postgres holds them.
    """

    name: str | None = None
    name_begins: str | None = None
    project: str | None = None
    service: str | None = None
    status: RunStatus | None = None
    state: RunState | None = None
    kind: str | None = None
    since: datetime.datetime | None = None
    until: datetime.datetime | None = None
    hand: tuple[str, int] | None = None


def wanted_rows(wanted: RunFilter, agent_id: str | None) -> QuerySet[AgentRun]:
    """The kept runs that are wanted, as far as their rows tell."""
    if wanted.state in _NOT_KEPT:
        return AgentRun.objects.none()
    table_id, hand_number = wanted.hand or (None, None)
    conditions: dict[str, Any] = {
        "agent_id": agent_id,
        "name": cut(wanted.name),
        "name__startswith": cut(wanted.name_begins),
        "project": cut(wanted.project),
        "service": cut(wanted.service),
        "status": wanted.status,
        "kinds__contains": None if wanted.kind is None else [cut(wanted.kind)],
        "last_at__gte": wanted.since,
        "last_at__lt": wanted.until,
        "table_id": table_id,
        "hand_number": hand_number,
    }
    return AgentRun.objects.filter(**{name: each for name, each in conditions.items() if each is not None})


def is_wanted(head: RunHead, wanted: RunFilter) -> bool:
    """Whether a head that was read is wanted."""
    name = cut(head.name)
    return (
        (wanted.name is None or name == cut(wanted.name))
        and (wanted.name_begins is None or (name or "").startswith(cut(wanted.name_begins) or ""))
        and (wanted.project is None or cut(head.project) == cut(wanted.project))
        and (wanted.service is None or cut(head.service) == cut(wanted.service))
        and wanted.status in (None, head.status)
        and wanted.state in (None, head.state)
        and (wanted.kind is None or _has_kind(head.counts, wanted.kind))
        and wanted.hand in (None, head.hand)
    )


def _has_kind(counts: Mapping[str, int], kind: str) -> bool:
    return any(count and cut(each) == cut(kind) for each, count in counts.items())


def cut(text: str | None) -> str | None:
    """A text as a row holds it."""
    return None if text is None else storable(text)[:ID_LENGTH]
