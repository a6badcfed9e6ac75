"""What is said of a run as a whole: how complete it is, what it is made of, and what stands out. Pure."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from capture.runs.pairing import Moment, Paired
from capture.runs.run import Run
from capture_sdk.runs.records import Status
from capture_sdk.usage import TokenCounts, token_counts, total


@dataclass(frozen=True, slots=True)
class Standout:
    """One thing that stands out: how often, in which words, and the first event of it."""

    count: int
    words: str
    event_id: str
    is_bad: bool = True


def completeness(run: Run) -> str:
    """One sentence that says what there is, what is missing and what could not be asked."""
    parts = [_count(len(run.events), "event")]
    if run.kept:
        parts.append("all of them kept" if run.kept == len(run.events) else f"{run.kept:,} of them kept")
    lost = sum(gap.last - gap.first + 1 for gap in run.gaps if gap.lost)
    absent = sum(gap.last - gap.first + 1 for gap in run.gaps if not gap.lost)
    if lost:
        parts.append(f"{lost:,} lost by their writer")
    if absent:
        parts.append(f"{absent:,} that did not arrive")
    if run.gaps:
        parts.append(_count(len(run.gaps), "gap"))
    parts += [
        f"{count:,} losses told ({reason.replace('_', ' ')})" for reason, count in (run.losses or {}).items()
    ]
    if run.damaged:
        parts.append(f"{_count(len(run.damaged), 'event')} damaged and not shown")
    if not (run.gaps or run.losses or run.damaged):
        parts.append("none is known to be missing")
    return " · ".join(parts)


def recorded(run: Run) -> tuple[datetime.datetime, datetime.datetime] | None:
    """The first and the last moment that its events name, by their writers' clocks; None where they name none."""
    times = [each.at for each in run.events if each.at.utcoffset() is not None]
    return (min(times), max(times)) if times else None


def tokens(paired: Paired) -> TokenCounts:
    """What the providers counted for all model calls; None where no call says."""
    return total(
        token_counts(each.finish.fields.get("usage")) for each in paired.calls if each.finish is not None
    )


def stands_out(paired: Paired) -> list[Standout]:
    """What a reader looks for first."""
    spans = [*paired.calls, *paired.executions]
    denied = [each for each in paired.proposals if each.denials]
    never = [each.start for each in paired.unexecuted if not each.denials]
    found = [
        _standout("with an error", (each.start for each in spans if each.status == Status.ERROR)),
        _standout("left before the end", (each.start for each in spans if each.status == Status.INCOMPLETE)),
        _standout("denied", (each.denials[0] for each in denied)),
        _standout("proposed, never executed", never),
        _standout("executed without a proposal", (each.start for each in paired.unproposed)),
        _standout("without an end", (each.start for each in spans if each.is_open)),
        _standout("that end or deny nothing that is there", paired.loose),
        _standout("of a kind unknown here", paired.unknown, is_bad=False),
    ]
    return [each for each in found if each is not None]


def _standout(words: str, moments: Iterable[Moment], *, is_bad: bool = True) -> Standout | None:
    every = list(moments)
    return Standout(len(every), words, every[0].event_id, is_bad) if every else None


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
