"""What a turn costs the thread that plays it."""

from collections.abc import Iterable
from typing import Final

from bench.jobs import Job, Result
from bench.recorders import BARE, CAPTURE, NOOP, RECORDERS
from bench.run import Runner, said
from bench.table import NONE, Part, counts, megabytes, micros, ratios

TURNS: Final = 200
_WARM: Final = 30
_ORDER: Final = (NOOP, BARE, "bare-ormsgpack", CAPTURE, "otel", "langfuse", "opik", "opik-at-once")
_HEADERS: Final = (
    "on the turn's thread",
    "p50 us",
    "p99 us",
    "worst us",
    "p50 : bare minimum",
    "process CPU us a turn",
    "RSS growth MB",
    "arrived",
)


def measure(runner: Runner, reps: int) -> Part:
    """Every recorder once a repetition, beginning with another one each time."""
    names = [name for name in _ORDER if runner.knows(name)]
    rounds: list[dict[str, Result]] = []
    for rep in range(reps):
        turned = names[rep % len(names) :] + names[: rep % len(names)]
        rounds.append({name: _once(runner, name, rep) for name in turned})
    return Part(
        title=f"On the turn's thread: {TURNS} turns 10 ms apart, {reps} repetitions",
        headers=_HEADERS,
        rows=[_row(name, rounds) for name in names],
        notes=(
            "p50 and p99 are medians of the repetitions' own, worst is the worst of all; "
            "the ratio is taken inside each repetition: its median (and range)",
            "process CPU has the background's and the harness's part in it: noop is the harness alone",
            f"arrived counts different turns in the store after the flush, of {TURNS + _WARM}",
        ),
        results=[result for each in rounds for result in each.values()],
    )


def _once(runner: Runner, name: str, rep: int) -> Result:
    return said(f"on-thread {rep + 1}", runner.measure(Job(recorder=name, turns=TURNS, warm=_WARM)))


def _row(name: str, rounds: Iterable[dict[str, Result]]) -> tuple[str, ...]:
    good = [each for each in rounds if each[name].error is None]
    mine = [each[name] for each in good]
    ratio = [each[name].p50 / each[BARE].p50 for each in good if BARE in each and each[BARE].p50]
    return (
        RECORDERS[name].title,
        micros(result.p50 for result in mine),
        micros(result.p99 for result in mine),
        f"{max(result.worst for result in mine):,.0f}" if mine else NONE,
        ratios(ratio),
        micros(result.cpu for result in mine),
        megabytes(result.growth_bytes for result in mine),
        counts(result.arrived for result in mine if result.arrived is not None),
    )
