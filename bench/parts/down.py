"""What happens to the agent when the store refuses, or hangs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from bench.jobs import Job, Result
from bench.measure import LEAVE_SECONDS
from bench.recorders import BARE, CAPTURE, RECORDERS
from bench.recorders.capture import CLOSE_SECONDS
from bench.run import Runner, said
from bench.stores import State
from bench.table import NONE, Part, megabytes, micros, ratios, seconds

_TURNS: Final = 6_000
_TURNS_UP: Final = 1_500
_TURNS_CLOSE: Final = 500
_NAMES: Final = (CAPTURE, BARE, "otel")
_HEADERS: Final = (
    "the store is down",
    "store",
    "p50 us",
    "p50 : own p50, up",
    "worst us",
    "RSS growth MB",
    "lost, as it says",
    "close() s",
    "exit s",
)
_STATES: Final[tuple[State, ...]] = ("up", "refusing", "hanging")

Measured = dict[State, list[Result]]


def measure(runner: Runner, reps: int) -> Part:
    """Each recorder up, refused and hung within a repetition; closing is measured in processes of its own."""
    names = [name for name in _NAMES if runner.knows(name)]
    ends: dict[str, Measured] = {name: {state: [] for state in _STATES} for name in names}
    closes: dict[str, Measured] = {name: {state: [] for state in _STATES} for name in names}
    for rep in range(reps):
        for name in names:
            for state in _STATES:
                ends[name][state].append(_end(runner, name, state, rep))
                closes[name][state].append(_close(runner, name, state, rep))
    return Part(
        title=f"The store down: {_TURNS:,} turns 1 ms apart ({_TURNS_UP:,} when up), {reps} repetitions",
        headers=_HEADERS,
        rows=[_row(name, state, ends[name], closes[name]) for name in names for state in _STATES],
        notes=(
            "refusing: nobody listens; hanging: connections open, nothing is answered",
            f"close() comes after {_TURNS_CLOSE} turns, given {CLOSE_SECONDS:.0f} s where that can be said; "
            "exit is the end of a process that closed nothing, after all the turns",
            "a p50 below its own when up: the queue was full, and a turn that is dropped costs less",
            "lost is what the recorder itself counts before it is closed or ends, the mean by reason",
        ),
        results=list(_every(ends)) + list(_every(closes)),
    )


def _every(measured: dict[str, Measured]) -> Iterator[Result]:
    for states in measured.values():
        yield from chain.from_iterable(states.values())


def _end(runner: Runner, name: str, state: State, rep: int) -> Result:
    turns = _TURNS_UP if state == "up" else _TURNS
    job = Job(recorder=name, turns=turns, pace=0.001, is_lazy=True, leave="exit")
    return said(f"down {rep + 1} {state}", runner.measure(job, state))


def _close(runner: Runner, name: str, state: State, rep: int) -> Result:
    job = Job(recorder=name, turns=_TURNS_CLOSE, pace=0.001, is_lazy=True, leave="close")
    return said(f"down {rep + 1} {state}, closing", runner.measure(job, state))


def _row(name: str, state: State, ends: Measured, closes: Measured) -> tuple[str, ...]:
    pairs = [
        (mine, up)
        for mine, up in zip(ends[state], ends["up"], strict=True)
        if mine.error is None and up.error is None
    ]
    mine = [result for result, _ in pairs]
    closed = [result for result in closes[state] if result.error is None]
    return (
        RECORDERS[name].title,
        state,
        micros(result.p50 for result in mine),
        ratios(result.p50 / up.p50 for result, up in pairs),
        f"{max(result.worst for result in mine):,.0f}" if mine else NONE,
        megabytes(result.growth_bytes for result in mine),
        _lost(mine),
        seconds((result.leave_seconds for result in closed), LEAVE_SECONDS),
        seconds((result.exit_seconds or 0.0 for result in mine), LEAVE_SECONDS),
    )


def _lost(results: Sequence[Result]) -> str:
    known = [result.lost for result in results if result.lost is not None]
    if not known:
        return NONE
    together = sum((Counter(lost) for lost in known), Counter[str]())
    means = {reason: round(count / len(known)) for reason, count in together.items() if count}
    return ", ".join(f"{reason} {mean:,}" for reason, mean in sorted(means.items())) or "0"
