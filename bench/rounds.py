"""Repetitions: every name once a round, and what of the rounds stands in a table."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from bench.jobs import Result
from bench.table import millis

Round = Mapping[str, Result]


def rounds(names: Sequence[str], reps: int, measure: Callable[[str], Result]) -> list[Round]:
    """Measure every name once a repetition, beginning with another one each time."""
    made: list[Round] = []
    for rep in range(reps):
        first = rep % len(names)
        made.append({name: measure(name) for name in (*names[first:], *names[:first])})
    return made


def results(every: Iterable[Round]) -> list[Result]:
    """All that was measured, failures too."""
    return [result for each in every for result in each.values()]


def good(every: Iterable[Round], name: str) -> list[Result]:
    """What was measured under this name, where nothing failed."""
    return [each[name] for each in every if each[name].error is None]


def timed(mine: Iterable[Result]) -> tuple[str, str]:
    """The cells p50 and p99, in milliseconds."""
    known = list(mine)
    return millis(each.p50 for each in known), millis(each.p99 for each in known)
