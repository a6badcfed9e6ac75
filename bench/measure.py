"""The measuring process: one repetition of one recorder, and one line of JSON as the answer.

``python -m bench.measure JOB`` is started by ``bench.run``, in the environment that the recorder needs.
"""

import faulthandler
import gc
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from statistics import median
from typing import Any, Final

from bench import workload
from bench.jobs import Job, Result
from bench.recorders import RECORDERS
from bench.recorders.contract import Recorder, quietly
from bench.workload import Turn

FLUSH_SECONDS: Final = 30.0
LEAVE_SECONDS: Final = 5.0
_SAMPLE_EVERY: Final = 50


def main() -> None:
    """Do the job of the command line."""
    logging.disable(logging.CRITICAL)
    job = Job.loads(sys.argv[1])
    result = {"paced": paced, "write": write, "drain": drain}[job.kind](job)
    sys.stdout.write(result.dumps() + "\n")
    sys.stdout.flush()
    if job.leave != "exit":
        os._exit(0)  # what a library does at the end of a process is measured by leave="exit" alone
    faulthandler.dump_traceback_later(LEAVE_SECONDS, exit=True)


def paced(job: Job) -> Result:
    """Time turn after turn on this thread, with a pause before each."""
    recorder, supply = RECORDERS[job.recorder].make(job.url), _supply(job)
    for turn in islice(supply, job.warm):
        time.sleep(job.pace)
        recorder.record(turn)
    del turn
    time.sleep(0.3)  # the warm turns are out of the way
    before = calibrate()
    _settle()
    held, cpu = _held(), time.process_time()
    times, peak = _time_each(recorder, supply, job)
    left = _leave(recorder, job)
    cpu = time.process_time() - cpu
    return Result(
        recorder=job.recorder,
        p50=quantile(times, 0.5),
        p99=quantile(times, 0.99),
        worst=max(times),
        cpu=cpu / job.turns * 1e6,
        growth_bytes=max(peak, _held()) - held,
        calibration=(before + calibrate()) / 2,
        leave_seconds=left,
        lost=recorder.lost(),
        left_at=time.monotonic(),
    )


def write(job: Job) -> Result:
    """Write turn after turn, each before the next, as the turns of one agent come."""
    recorder = RECORDERS[job.recorder].make(job.url)
    for turn in islice(workload.endless(workload.lines()), job.turns):
        recorder.record(turn)
        recorder.flush(5.0)
    recorder.close()
    return Result(recorder=job.recorder, lost=recorder.lost(), calibration=calibrate())


def drain(job: Job) -> Result:
    """Hand over everything at once, and time until the last turn is in the store."""
    recorder, supply = RECORDERS[job.recorder].make(job.url), iter(_made(job))
    for turn in islice(supply, job.warm):
        recorder.record(turn)
    recorder.flush(10.0)
    calibration = calibrate()
    _settle()
    began, cpu = time.perf_counter(), time.process_time()
    for turn in supply:
        recorder.record(turn)
    recorder.flush(60.0)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return Result(
        recorder=job.recorder,
        turns_a_second=job.turns / seconds,
        cpu=cpu / job.turns * 1e6,
        calibration=calibration,
        lost=recorder.lost(),
    )


def _time_each(recorder: Recorder, supply: Iterator[Turn], job: Job) -> tuple[list[float], int]:
    """The microseconds of each turn, and the most memory that was seen."""
    times: list[float] = []
    peak = 0
    clock = time.perf_counter_ns
    for turn in islice(supply, job.turns):
        time.sleep(job.pace)
        began = clock()
        recorder.record(turn)
        times.append((clock() - began) / 1_000)
        if len(times) % _SAMPLE_EVERY == 0:
            peak = max(peak, _held())
    return times, peak


def _supply(job: Job) -> Iterator[Turn]:
    if job.is_lazy:
        return workload.endless(workload.lines())
    return iter(_made(job))


def _made(job: Job) -> list[Turn]:
    """All turns made before the first is recorded: by then none of them is in a processor's cache."""
    return list(islice(workload.endless(workload.lines()), job.warm + job.turns))


def _leave(recorder: Recorder, job: Job) -> float:
    """Flush or close, or neither where the process just ends; how long it took, up to a bound."""
    if job.leave == "exit":
        return 0.0
    if job.leave == "close":
        return _bounded(recorder.close, LEAVE_SECONDS)
    return _bounded(lambda: recorder.flush(FLUSH_SECONDS), FLUSH_SECONDS)


def _bounded(call: Callable[[], object], limit: float) -> float:
    """Seconds that a call takes; ``limit`` when it takes longer, and it is left to itself."""
    thread = threading.Thread(target=quietly, args=(call,), daemon=True)
    began = time.monotonic()
    thread.start()
    thread.join(limit)
    return time.monotonic() - began


def _settle() -> None:
    """What was made so far is no business of the collector: it would be counted as the recorder's."""
    gc.collect()
    gc.freeze()


def _held() -> int:
    return int(import_module("psutil").Process().memory_info().rss)


def calibrate() -> float:
    """Microseconds of a fixed piece of work, the median of 41: they tell machines and moments apart.

    As with the turns, each comes after a pause and with data not touched before: a machine differs far
    more from moment to moment in how it wakes up than in how it runs.
    """
    times = []
    for piece in [_fixed() for _ in range(41)]:
        time.sleep(0.01)
        began = time.perf_counter_ns()
        json.dumps(piece)
        times.append((time.perf_counter_ns() - began) / 1_000)
    return median(times)


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def _fixed() -> list[dict[str, Any]]:
    return [
        {"place": each, "name": f"näme-{each}", "share": each / 7, "list": [each] * 5} for each in range(60)
    ]


if __name__ == "__main__":
    main()
