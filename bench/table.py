"""Markdown tables, and how numbers are written in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.jobs import Result

NONE = "–"


@dataclass(frozen=True, slots=True)
class Part:
    """One table with what has to be said about it, and the results that it was made of."""

    title: str
    headers: tuple[str, ...]
    rows: list[tuple[str, ...]]
    notes: tuple[str, ...] = ()
    results: list[Result] = field(default_factory=list)

    def __str__(self) -> str:
        said = "\n".join(f"* {note}" for note in (*self.notes, *noise(self.results), *failures(self.results)))
        return f"## {self.title}\n\n{markdown(self.headers, self.rows)}\n\n{said}\n"


def markdown(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns stand under each other in a terminal too; all but the first to the right."""
    every = [headers, *rows]
    widths = [max(len(row[column]) for row in every) for column in range(len(headers))]
    rule = [f"{'-' * widths[0]}", *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    return "\n".join(_line(row, widths) for row in (headers, rule, *every[1:]))


def noise(results: Iterable[Result]) -> list[str]:
    """How far the same work took different times in these processes: what is closer than that is alike."""
    times = sorted(result.calibration for result in results if result.calibration)
    if not times:
        return []
    middle = median(times)
    spread = f"{times[0]:,.0f} to {times[-1]:,.0f} us, median {middle:,.0f}"
    return [f"machine noise: the same piece of work took {spread}, in {len(times)} processes"]


def failures(results: Iterable[Result]) -> list[str]:
    """One line for each recorder that failed, with its last reason."""
    reasons = {result.recorder: result.error for result in results if result.error is not None}
    return [f"{name} failed at least once: {reason}" for name, reason in reasons.items()]


def micros(values: Iterable[float]) -> str:
    """The median of microseconds."""
    return _median(values, "{:,.0f}")


def millis(values: Iterable[float]) -> str:
    """The median of microseconds, in thousands of them."""
    return _median((value / 1_000 for value in values), "{:,.1f}")


def seconds(values: Iterable[float], limit: float) -> str:
    """The median of seconds; at the limit nobody knows how long it would have been."""
    known = list(values)
    return f"> {limit:.0f}" if known and median(known) >= limit else _median(known, "{:.2f}")


def megabytes(values: Iterable[float]) -> str:
    """The median of bytes, in millions of them."""
    return _median((value / 1e6 for value in values), "{:,.1f}")


def ratios(values: Iterable[float]) -> str:
    """The median of ratios, and between which they lay when there were several."""
    known = sorted(values)
    if len(known) < 2:
        return _median(known, "{:.2f}")
    return f"{median(known):.2f} ({known[0]:.2f}–{known[-1]:.2f})"


def counts(values: Iterable[float]) -> str:
    """The median of whole numbers."""
    return _median(values, "{:,.0f}")


def _median(values: Iterable[float], form: str) -> str:
    known = list(values)
    return form.format(median(known)) if known else NONE


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return f"| {' | '.join([first, *others])} |"
