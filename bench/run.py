"""Starts measuring processes, one at a time, and waits for them, not for ever."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.jobs import Job, Result
from bench.peers import FOLDER, ROOT, Missing
from bench.recorders import OWN, RECORDERS
from bench.stores import State, arrived, store

JOB_SECONDS: Final = 180.0

# Nothing of the caller's settings reaches a recorder, and no library reports its use to its makers.
_SILENCE: Final[Mapping[str, str]] = {
    "DO_NOT_TRACK": "1",
    "OPIK_ANALYTICS_ENABLE": "false",
    "OPIK_SENTRY_ENABLE": "false",
    "OPIK_ENABLE_LITELLM_MODELS_MONITORING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Runner:
    """Knows the interpreter of each environment, and which could not be made."""

    pythons: Mapping[str, Path]
    missing: tuple[Missing, ...]
    has_peers: bool = True

    def knows(self, name: str) -> bool:
        """Whether this recorder can be measured in this run."""
        entry = RECORDERS[name]
        return (self.has_peers or not entry.is_peer) and entry.environment in self.pythons

    def measure(self, job: Job, state: State = "up") -> Result:
        """One repetition against a new store in this state; its turns are counted in the store."""
        entry = RECORDERS[job.recorder]
        with store(entry, state) as url:
            result = self.process(replace(job, url=url))
            if state != "up" or result.error is not None:
                return result
            return result.counted(arrived(entry, url))

    def process(self, job: Job) -> Result:
        """One measuring process. A failure is an answer too, for the others go on."""
        python = self.pythons[RECORDERS[job.recorder].environment]
        command = [str(python), "-m", "bench.measure", job.dumps()]
        home = FOLDER / "home"
        home.mkdir(parents=True, exist_ok=True)
        with subprocess.Popen(
            command, cwd=ROOT, env=_environ(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            try:
                return _answer(child, job)
            finally:
                child.kill()  # does nothing to one that has ended; an interrupted run leaves none behind


def runner(pythons: Mapping[str, Path], missing: list[Missing], *, has_peers: bool) -> Runner:
    """A runner that has the project's own interpreter too."""
    return Runner({**pythons, OWN: Path(sys.executable)}, tuple(missing), has_peers)


def said(what: str, result: Result) -> Result:
    """Tell whoever waits what has just been measured; the result itself."""
    told = result.error or f"p50 {result.p50:,.0f} us" if result.p50 or result.error else "done"
    sys.stderr.write(f"bench: {what}: {RECORDERS[result.recorder].title}: {told}\n")
    return result


def _answer(child: "subprocess.Popen[str]", job: Job) -> Result:
    try:
        out, err = child.communicate(timeout=JOB_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
    ended = time.monotonic()
    said = [line for line in out.splitlines() if line.startswith('{"recorder"')]
    if not said:
        reason = (err.strip().splitlines() or [f"nothing said within {JOB_SECONDS:.0f} s"])[-1]
        return Result(recorder=job.recorder, error=reason)
    result = Result.loads(said[-1])
    return replace(result, exit_seconds=ended - result.left_at) if job.leave == "exit" else result


def _environ(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, **_SILENCE, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
