"""The list of runs: what it is narrowed to, read from an address that can be shared, and what stands out of each."""

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.http import urlencode

from capture.auth import SEE
from capture.runs.listing import list_runs
from capture.runs.run import RunHead, RunState, RunStatus
from capture.runs.wanted import RunFilter
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id
from capture_sdk.runs.records import EventKind
from viewer.access import bad_address, framed, staff_page
from viewer.addresses import hand_address
from viewer.recents import one_of, time_of

PAGE: Final = 50
_WORDS: Final = ("name", "agent", "project", "service", "hand", "status", "state", "kind", "since", "until")


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What was asked for: as it was written, and as the list takes it."""

    said: dict[str, str]
    wanted: RunFilter

    @property
    def query(self) -> str:
        """The query string that asks for the same."""
        return urlencode(self.said)

    @property
    def is_narrowed(self) -> bool:
        """Whether by more than the status, which stands in sight."""
        return bool(self.said.keys() - {"status"})

    def statuses(self) -> list[tuple[str, str, bool]]:
        """Each status's query string, name, and whether it is the chosen one."""
        others = {name: value for name, value in self.said.items() if name != "status"}
        return [
            (
                urlencode(others | ({"status": value} if value else {})),
                value or "all",
                self.said.get("status", "") == value,
            )
            for value in ("", *map(str, RunStatus))
        ]


@dataclass(frozen=True, slots=True)
class Listed:
    """One run as the list shows it."""

    head: RunHead

    @property
    def events(self) -> int:
        """All that arrived."""
        return sum(self.head.counts.values())

    @property
    def calls(self) -> int:
        """Model calls."""
        return self._count(EventKind.MODEL_CALL_STARTED)

    @property
    def tools(self) -> int:
        """Executions of tools."""
        return self._count(EventKind.TOOL_STARTED)

    @property
    def checkpoints(self) -> int:
        """Checkpoints."""
        return self._count(EventKind.CHECKPOINT)

    @property
    def stands_out(self) -> list[str]:
        """What the counts alone tell; the run's own page tells it exactly."""
        found = []
        if denied := self._count(EventKind.TOOL_DENIED):
            found.append(f"{denied} denied")
        proposed = self._count(EventKind.TOOL_PROPOSED)
        if (never := proposed - self.tools - denied) > 0:
            found.append(f"at least {never} never executed")
        if (unproposed := self.tools - proposed) > 0:
            found.append(f"at least {unproposed} without a proposal of its own")
        unended = self.calls - self._count(EventKind.MODEL_CALL_FINISHED)
        if unended > 0:
            found.append(f"{unended} call{'' if unended == 1 else 's'} without an end")
        return found

    @property
    def left_ms(self) -> int | None:
        """What is left of its time in the buffer."""
        return left_ms(self.head)

    def _count(self, kind: str) -> int:
        return self.head.counts.get(kind, 0)


def left_ms(head: RunHead) -> int | None:
    """What is left of a run's time in the buffer; None for one that is not there."""
    if head.expires_at is None:
        return None
    return max(round((head.expires_at - timezone.now()).total_seconds() * 1_000), 0)


@staff_page(SEE)
def runs(request: HttpRequest) -> HttpResponse:
    """Runs, the last active first, narrowed to what is asked for."""
    try:
        asked, cursor = narrowed(request.GET), request.GET.get("before") or None
        page = list_runs(asked.wanted, agent_id=asked.said.get("agent"), limit=PAGE, cursor=cursor)
    except (IdError, ValueError) as exc:
        return bad_address(request, exc, what="run")
    older = urlencode(asked.said | {"before": page.next_cursor}) if page.next_cursor is not None else None
    context: dict[str, object] = {"page": page, "runs": [Listed(head) for head in page.runs]}
    context |= {"asked": asked, "is_first": cursor is None, "older": older}
    context |= {"states": list(RunState), "kinds": list(EventKind)}
    return framed(request, "viewer/runs/list.html", context)


def narrowed(given: QueryDict) -> Narrowed:
    """Read the filters. Raises IdError naming the field, its value and what is wanted."""
    said = {name: value for name in _WORDS if (value := given.get(name, "").strip())}
    if "agent" in said:
        checked_id("Agent", said["agent"])
    wanted = RunFilter(
        name_begins=said.get("name"),
        project=said.get("project"),
        service=said.get("service"),
        status=RunStatus(one_of("Status", said["status"], list(RunStatus))) if "status" in said else None,
        state=RunState(one_of("State", said["state"], list(RunState))) if "state" in said else None,
        kind=said.get("kind"),
        since=time_of("Since", said["since"]) if "since" in said else None,
        until=time_of("Until", said["until"]) if "until" in said else None,
        hand=_hand(said["hand"]) if "hand" in said else None,
    )
    return Narrowed(said, wanted)


def _hand(given: str) -> tuple[str, int]:
    return hand_address(QueryDict(urlencode({"tableId": given})))
