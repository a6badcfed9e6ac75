"""What can be said of a run's evidence: its quality, what each model call was given, and its artifacts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from django.http import HttpRequest, HttpResponse

from capture.auth import SEE
from capture.runs.branching import branching
from capture.runs.inventory import CallContext, Inventory, inventory
from capture.runs.inventory.items import Item
from capture.runs.pairing import Moment, Paired, pair
from capture.runs.quality import LineState, report
from capture.runs.reader import Reader
from capture.runs.run import Run
from capture_sdk.runs.records import artifact_refs
from viewer.access import framed, staff_page
from viewer.runs.addresses import after_address, event_address, given_of
from viewer.runs.page import numbers, read
from viewer.runs.paging import Paging
from viewer.runs.values import Ref, ref_of

_NAMES: Final = {
    "quality": "quality",
    "branches": "branch points",
    "context": "context",
    "call_items": "context of a call",
    "artifacts": "artifacts",
}


@staff_page(SEE)
def quality(request: HttpRequest) -> HttpResponse:
    """The quality report of a run, and where a replay of it can branch off."""
    return read(request, _quality, detail="quality")


def _quality(request: HttpRequest, found: Run) -> HttpResponse:
    paired = pair(found.events)
    reader = Reader(paired)
    context = inventory(paired, reader)
    answered = report(
        paired, context, gaps=found.gaps, damaged=found.damaged, losses=found.losses, absent=reader.absent
    )
    ranks = {LineState.NOT_MET: 0, LineState.MET: 1, LineState.NOT_APPLICABLE: 2}
    lines = sorted(answered.lines, key=lambda line: ranks[line.state])
    shown = {"report": answered, "lines": lines, "is_cut": context.is_cut}
    return _framed(request, found, "quality", shown | {"places": numbers(paired)})


@staff_page(SEE)
def branches(request: HttpRequest) -> HttpResponse:
    """Every checkpoint of a run, a window of them: whether a replay can branch off there, and why."""
    return read(request, _branches, detail="branches")


def _branches(request: HttpRequest, found: Run) -> HttpResponse:
    paired = pair(found.events)
    told = branching(paired, gaps=found.gaps, damaged=found.damaged)
    page = Paging(told.points, after_address(given_of(request)))
    return _framed(request, found, "branches", {"branching": told, "page": page, "places": numbers(paired)})


@staff_page(SEE)
def context(request: HttpRequest) -> HttpResponse:
    """What each model call was given: the calls of a run, or the items of one."""
    return read(request, _context, detail="context")


def _context(request: HttpRequest, found: Run) -> HttpResponse:
    given = given_of(request)
    paired, after = pair(found.events), after_address(given)
    shown: dict[str, object] = {"places": numbers(paired)}
    if "call" not in given:
        alone = inventory(paired, lambda _: None, call="").alone
        return _framed(
            request, found, "context", shown | {"page": Paging(paired.calls, after), "alone": alone}
        )
    call = event_address(given, "call")
    listed = inventory(paired, Reader(paired, call=call), call=call)
    shown |= {"call": call, "items": CallItems(listed, call, after)}
    return _framed(request, found, "call_items", shown)


@dataclass(frozen=True, slots=True)
class CallItems:
    """What one model call was given, a window of it; ``listed`` has it, and the annotations that it does not hold."""

    listed: Inventory
    call: str
    after: int
    page: Paging[Item] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "page", Paging(self._items, self.after))

    @property
    def told(self) -> CallContext | None:
        """The call's context; None where the run has no such call."""
        return self.listed.calls[0] if self.listed.calls else None

    @property
    def alone(self) -> list[Item]:
        """Annotations of the call that no part of its request holds."""
        return [each for each in self.listed.alone if each.call in (None, self.call)]

    @property
    def visible(self) -> int:
        """How many items the model saw."""
        return sum(each.visibility == "model" for each in self._items)

    @property
    def hidden(self) -> int:
        """How many it did not."""
        return sum(each.visibility == "hidden" for each in self._items)

    @property
    def _items(self) -> tuple[Item, ...]:
        return self.listed.calls[0].items if self.listed.calls else ()


@dataclass(frozen=True, slots=True)
class Kept:
    """One artifact of a run: the first event that refers to it, and how many references there are."""

    ref: Ref
    kind: str
    count: int


@staff_page(SEE)
def artifacts(request: HttpRequest) -> HttpResponse:
    """The artifacts that a run refers to, each once."""
    return read(request, _artifacts, detail="artifacts")


def _artifacts(request: HttpRequest, found: Run) -> HttpResponse:
    paired = pair(found.events)
    page = Paging(list(artifacts_of(paired)), after_address(given_of(request)))
    return _framed(request, found, "artifacts", {"page": page, "places": numbers(paired)})


def artifacts_of(paired: Paired) -> Iterator[Kept]:
    """Each artifact once, in the order in which they are first referred to."""
    firsts: dict[str, tuple[Moment, Ref]] = {}
    counts: dict[str, int] = {}
    for moment in paired.moments:
        for told in artifact_refs(moment.fields):
            ref = ref_of(moment.event_id, told)
            firsts.setdefault(ref.sha256, (moment, ref))
            counts[ref.sha256] = counts.get(ref.sha256, 0) + 1
    return (Kept(ref, moment.kind, counts[sha256]) for sha256, (moment, ref) in firsts.items())


def _framed(request: HttpRequest, found: Run, name: str, shown: dict[str, object]) -> HttpResponse:
    """A page of its own, or the part of another that asks for it."""
    is_part = request.headers.get("HX-Request") == "true"
    said = {"run": found, "key": found.head.key, "is_part": is_part}
    said |= {"part": f"viewer/runs/_{name}.html", "part_name": _NAMES[name]}
    return framed(request, f"viewer/runs/_{name}.html" if is_part else "viewer/runs/part.html", said | shown)
