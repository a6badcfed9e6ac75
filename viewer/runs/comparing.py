"""Two runs beside each other: what the one did that the other did not, and what their models were given differently."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from django.http import HttpRequest, HttpResponse

from capture.access import log_run_access
from capture.auth import SEE, actor_of_user
from capture.limits import RUN_ROWS
from capture.models import AccessAction
from capture.runs.comparing import Change, StepRow, compare
from capture.runs.inventory import Inventory, inventory
from capture.runs.listing import list_runs
from capture.runs.pairing import Paired, pair
from capture.runs.reader import Reader
from capture.runs.reading import RunMissing, read_run
from capture.runs.run import Run
from capture_sdk.runs.records import RunKey
from viewer.access import framed, staff_page
from viewer.runs.addresses import after_address, given_of
from viewer.runs.page import numbers, read
from viewer.runs.paging import Paging

_CHOICES = 20  # runs of the same agent that are offered


@dataclass(frozen=True, slots=True)
class Stretch:
    """One step that differs, or ``same`` steps in a row that do not."""

    row: StepRow
    same: int = 0


@staff_page(SEE)
def compared(request: HttpRequest) -> HttpResponse:
    """One run against the other that the address names; without one, those of its agent that it can be laid beside."""
    return read(request, _compared, detail="compare")


def _compared(request: HttpRequest, found: Run) -> HttpResponse:
    key, given = found.head.key, given_of(request)
    other = _other(given.get("withAgentId", ""), given.get("withRunId", ""), key)
    if other is None:
        others = [each for each in list_runs(agent_id=key.agent_id, limit=_CHOICES).runs if each.key != key]
        return framed(request, "viewer/runs/choose.html", {"run": found, "key": key, "others": others})
    log_run_access(AccessAction.READ_RUN, other, actor=actor_of_user(request.user), detail="compare")
    try:
        beside = read_run(other)
    except RunMissing as missing:
        return framed(request, "viewer/runs/missing.html", {"key": other, "missing": missing}, status=404)
    pairs = (pair(found.events), pair(beside.events))
    result = compare(*pairs, (_inventory(pairs[0]), _inventory(pairs[1])))
    context: dict[str, object] = {"run": found, "beside": beside, "key": key, "other": other, "found": result}
    context |= {"page": Paging(list(stretches(result.rows)), after_address(given)), "shown_items": RUN_ROWS}
    context |= {"numbers": numbers(pairs[0]), "other_numbers": numbers(pairs[1])}
    is_part = request.headers.get("HX-Request") == "true"
    return framed(request, f"viewer/runs/{'_steps' if is_part else 'compare'}.html", context)


def stretches(rows: Iterable[StepRow]) -> Iterator[Stretch]:
    """The steps, those in a row that are the same as one."""
    for is_same, some in groupby(rows, key=lambda row: row.change is Change.SAME):
        held = list(some)
        if is_same:
            yield Stretch(held[0], len(held))
        else:
            yield from map(Stretch, held)


def _other(agent_id: str, run_id: str, key: RunKey) -> RunKey | None:
    """The run to compare with; its agent is the run's own where none is named. Raises IdError."""
    return RunKey(agent_id or key.agent_id, run_id) if agent_id or run_id else None


def _inventory(paired: Paired) -> Inventory:
    return inventory(paired, Reader(paired))
