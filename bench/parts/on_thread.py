"""What a turn costs the thread that plays it."""

from typing import Final

from bench.jobs import Job, Result
from bench.recorders import BARE, CAPTURE, NOOP, RECORDERS
from bench.rounds import Round, good, results, rounds
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
    every = rounds(names, reps, lambda name: _once(runner, name))
    return Part(
        title=f"On the turn's thread: {TURNS} turns 10 ms apart, {reps} repetitions",
        headers=_HEADERS,
        rows=[_row(name, every) for name in names],
        notes=(
            "p50 and p99 are medians of the repetitions' own, worst is the worst of all; "
            "the ratio is taken inside each repetition: its median (and range)",
            "process CPU has the background's and the harness's part in it: noop is the harness alone",
            f"arrived counts different turns in the store after the flush, of {TURNS + _WARM}",
        ),
        results=results(every),
    )


def _once(runner: Runner, name: str) -> Result:
    return said("on-thread", runner.measure(Job(recorder=name, turns=TURNS, warm=_WARM)))


def _row(name: str, every: list[Round]) -> tuple[str, ...]:
    mine = good(every, name)
    pairs = [(each[name], each[BARE]) for each in every if BARE in each]
    ratio = [one.p50 / bare.p50 for one, bare in pairs if one.error is None and bare.p50]
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
