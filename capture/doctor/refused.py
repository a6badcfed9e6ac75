"""The doctor where settings do not load: each refused variable is a finding. Needs no settings itself."""

import sys
from collections.abc import Sequence

from capture.doctor.diagnosis import Diagnosis
from capture.findings.finding import Finding


def explain(refusal: str, arguments: Sequence[str]) -> int:
    """Print what was refused, a sentence a line, as the command ``doctor`` would; give its exit status."""
    found = Diagnosis(tuple(_finding(line) for line in refusal.splitlines() if line), ("environment",))
    sys.stdout.write((found.as_json() if "--json" in arguments else found.as_text()) + "\n")
    return 1


def _finding(sentence: str) -> Finding:
    return Finding(
        "capture.D001",
        sentence,
        "No process of this installation starts, and the doctor can look at nothing else.",
        "Set the variable as the sentence says; docs/settings.md describes each.",
    )
