"""How many turns a second one process brings into the buffer."""

from typing import Final

from bench import workload
from bench.jobs import Job, Result
from bench.recorders import RECORDERS
from bench.run import Runner, said
from bench.table import Part, counts, micros, ratios

_LAPS: Final = 3
_WARM: Final = 64
_BARE: Final = "bare-pipeline"
_NAMES: Final = (_BARE, "capture-transport", "capture-wide")


def measure(runner: Runner, reps: int) -> Part:
    """Both handed everything at once, in turn within a repetition."""
    names = [name for name in _NAMES if runner.knows(name)]
    rounds = [{name: _once(runner, name, rep) for name in names} for rep in range(reps)]
    return Part(
        title=f"Throughput: {_LAPS * workload.TURNS:,} turns at once, {reps} repetitions",
        headers=(
            "from a full queue",
            "turns a second",
            ": bare pipeline",
            "process CPU us a turn",
            "arrived",
        ),
        rows=[_row(name, rounds) for name in names],
        notes=(
            "from the first turn handed over, as fast as one thread can, until all is flushed; "
            f"arrived has the {_WARM} warm turns too",
            "the bare pipeline encodes, compresses and writes on one thread, 64 turns a time; "
            "capture_sdk takes turns on one thread and writes from another, redaction included; its transport alone "
            "is given records that were encoded before",
        ),
        results=[result for each in rounds for result in each.values()],
    )


def _once(runner: Runner, name: str, rep: int) -> Result:
    job = Job(recorder=name, kind="drain", turns=_LAPS * workload.TURNS, warm=_WARM)
    return said(f"throughput {rep + 1}", runner.measure(job))


def _row(name: str, rounds: list[dict[str, Result]]) -> tuple[str, ...]:
    good = [each for each in rounds if all(result.error is None for result in each.values())]
    return (
        RECORDERS[name].title,
        counts(each[name].turns_a_second for each in good),
        ratios(each[name].turns_a_second / each[_BARE].turns_a_second for each in good if _BARE in each),
        micros(each[name].cpu for each in good),
        counts(each[name].arrived or 0 for each in good),
    )
