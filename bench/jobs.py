"""What a measuring process is asked to do, and what it answers: both travel as JSON."""

import json
from dataclasses import asdict, dataclass, field, replace
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
class Ask:
    """Requests on one kept connection, each sent when the one before is answered; the first ``warm`` are not timed.

    A request is its method, its address and its body, empty for none.
    """

    name: str
    port: int
    headers: dict[str, str] = field(repr=False)
    requests: list[tuple[str, str, str]]
    warm: int = 10

    def dumps(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> Self:
        """The one that ``dumps`` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one of several clients posts at once: so many batches of turns or of charges, one after the other.

    The client's turns are those of ``agent`` at ``table``.
    """

    name: str
    port: int
    headers: dict[str, str] = field(repr=False)
    kind: Literal["turns", "charges"]
    encoding: Literal["identity", "gzip"]
    table: str
    agent: str
    batches: int

    def dumps(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> Self:
        """The one that ``dumps`` wrote."""
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
    size: int = 0  # bytes of an answer
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
