"""What recording a run costs: on the agent's thread, and in the buffer."""

from typing import Final

from redis import Redis

from bench import stores
from bench.jobs import Job, Result
from bench.recorders import RECORDERS
from bench.recorders.runs import RUN, RunCalls, RunEvents, RunTools
from bench.run import Runner, said
from bench.table import Part, counts, micros
from bench.workload import AGENT
from capture_sdk.keys import run_key

STEPS: Final = 200
_WARM: Final = 30
_STORED: Final = 1_000  # steps written one by one, for the bytes
CALL: Final = "run-call"
NAMES: Final = {"run-event": RunEvents, "run-tool": RunTools, CALL: RunCalls}
_HEADERS: Final = (
    "a step of a run",
    "events",
    "p50 us an event",
    "p99 us a step",
    "worst us",
    "process CPU us an event",
    "bytes an event",
    "arrived",
)


def measure(runner: Runner, reps: int) -> Part:
    """Each kind of step once a repetition, 10 ms apart; and once all in one go, for what the buffer holds."""
    paced: dict[str, list[Result]] = {name: [] for name in NAMES}
    for rep in range(reps):
        for name, results in paced.items():
            job = Job(recorder=name, turns=STEPS, warm=_WARM)
            results.append(said(f"events {rep + 1}", runner.measure(job)))
    stored = {name: _stored(runner, name) for name in NAMES}
    return Part(
        title=f"Recording a run: {STEPS} steps 10 ms apart, {reps} repetitions",
        headers=_HEADERS,
        rows=[_row(name, paced[name], *stored[name]) for name in NAMES],
        notes=(
            "p50 is the step's, divided by its events; medians of the repetitions, worst is the worst of all",
            f"bytes are used_memory over {_STORED} steps in one run, artifacts, sets and the run's head included",
            "a call's request holds the workload's whole prompt: its bytes are nearly all that artifact's",
            f"arrived counts the run's events in the store, of {_STORED} steps and the run's begin and end",
        ),
        results=[result for results in paced.values() for result in results],
    )


def _stored(runner: Runner, name: str) -> tuple[float, int]:
    """The bytes that an event of this step takes in an empty buffer, and how many arrived."""
    with stores.store(RECORDERS[name]) as url, Redis.from_url(url) as control:
        before = int(control.info("memory")["used_memory"])
        runner.process(Job(recorder=name, url=url, kind="write", turns=_STORED))
        held = int(control.info("memory")["used_memory"]) - before
        arrived = sum(not field.startswith(b"\0") for field in control.hkeys(run_key(AGENT, RUN)))
    return held / max(1, arrived), arrived


def _row(name: str, results: list[Result], stored: float, arrived: int) -> tuple[str, ...]:
    good, events = [each for each in results if each.error is None], NAMES[name].events
    return (
        RECORDERS[name].title,
        str(events),
        micros(each.p50 / events for each in good),
        micros(each.p99 for each in good),
        f"{max((each.worst for each in good), default=0):,.0f}",
        micros(each.cpu / events for each in good),
        f"{stored:,.0f}",
        counts([arrived]),
    )
