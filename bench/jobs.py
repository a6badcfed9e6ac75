"""What a measuring process is asked to do, and what it answers: both travel as JSON."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Literal, Self

Kind = Literal["paced", "write", "drain"]
Leave = Literal["flush", "close", "exit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One repetition of one recorder.

    ``kind``: ``paced`` records a turn every ``pace`` seconds and times each; ``write`` writes the turns one
    by one; ``drain`` hands them all over and times until the last is in the store.
    ``leave`` says how a paced job ends: flushed and cut off, closed, or as any process ends.
    """

    recorder: str
    url: str = ""  # of a store that is made for the job, unless one is given
    kind: Kind = "paced"
    turns: int = 200
    warm: int = 30
    pace: float = 0.01
    is_lazy: bool = False  # make each turn just before it is recorded, so that only the recorder can hold it
    leave: Leave = "flush"

    def dumps(self) -> str:
        """The job as one argument of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> Self:
        """The job that ``dumps`` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one repetition measured. Times are microseconds unless their name says otherwise.

    ``left_at`` is the machine's monotonic clock when the recorder was let go; ``exit_seconds``, from then
    to the end of the process, is added by whoever waits for it. ``arrived`` is counted in the store.
    """

    recorder: str
    p50: float = 0.0
    p99: float = 0.0
    worst: float = 0.0
    cpu: float = 0.0
    growth_bytes: int = 0
    calibration: float = 0.0
    leave_seconds: float = 0.0
    turns_a_second: float = 0.0
    lost: dict[str, int] | None = None
    left_at: float = 0.0
    exit_seconds: float | None = None
    arrived: int | None = None
    error: str | None = None

    def counted(self, arrived: int | None) -> Self:
        """With what was counted in the store."""
        return replace(self, arrived=arrived)

    def dumps(self) -> str:
        """The result as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> Self:
        """The result that ``dumps`` wrote."""
        return cls(**json.loads(text))
