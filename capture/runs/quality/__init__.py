"""The quality report: which evidence a run has, line by line, and which it lacks. Pure, and it never guesses.

A field that is absent was not captured; one that is null was captured as nothing, and lacks nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from capture.runs.branching import Branching, branching
from capture.runs.inventory import Inventory
from capture.runs.pairing import Paired
from capture.runs.quality import whole
from capture.runs.quality.calls import of_calls
from capture.runs.quality.lines import CHECKS, Check, Lack, Line, LineState
from capture.runs.quality.tools import of_tools
from capture.runs.run import Gap

__all__ = ["CHECKS", "Check", "Lack", "Line", "LineState", "Report", "report"]


@dataclass(frozen=True, slots=True)
class Report:
    """Every line of ``CHECKS`` answered, and where a replay can branch off."""

    lines: tuple[Line, ...]
    branching: Branching

    @property
    def met(self) -> int:
        """Lines that are met."""
        return sum(line.state is LineState.MET for line in self.lines)

    @property
    def not_met(self) -> int:
        """Lines that are not."""
        return sum(line.state is LineState.NOT_MET for line in self.lines)

    def line(self, code: str) -> Line:
        """One line by its code. Raises KeyError."""
        return {each.code: each for each in self.lines}[code]


def report(
    paired: Paired,
    context: Inventory,
    *,
    gaps: Sequence[Gap] = (),
    damaged: Sequence[str] = (),
    losses: Mapping[str, int] | None = None,
    absent: Collection[str] = (),
    suspect: str | None = None,
) -> Report:
    """Answer the checklist. ``gaps``, ``damaged`` and ``losses`` are the run's; ``absent`` artifacts known to be gone.

    ``suspect`` is the event that a failure is put down to, for the warnings about checkpoints.
    """
    answered = (
        whole.names(paired),
        *of_calls(paired, context),
        *of_tools(paired, context),
        whole.context_annotated(context),
        whole.before_decision(paired),
        whole.before_effects(paired),
        whole.redaction(paired),
        whole.streams(paired),
        whole.finished(paired),
        whole.complete(paired, context, gaps=gaps, damaged=damaged, losses=losses or {}, absent=absent),
    )
    return Report(answered, branching(paired, gaps=gaps, damaged=damaged, suspect=suspect))
