"""Every example of "Recording a run" runs, from the first to the last, as a reader would type them."""

import os
import re
import subprocess
import sys
from pathlib import Path

from capture_sdk.runs import Run, RunClient
from capture_sdk.runs.verbs import Verbs
from tests.site_process import ROOT

SECTION = (ROOT / "docs" / "runs.md").read_text().partition("## Recording a run\n")[2].partition("\n## ")[0]


def test_the_examples_run_in_order(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    program = tmp_path / "examples.py"
    program.write_text("\n".join(blocks))
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert finished.returncode == 0, finished.stderr
    assert "capture" not in finished.stderr  # nothing lost, no fault
    assert "records into this run" in finished.stdout


def test_every_verb_is_documented() -> None:
    verbs = {name for each in (Verbs, Run, RunClient) for name in vars(each) if not name.startswith("_")}
    own = {"key", "run_id", "agent_id", "parent_id", "join", "leave", "off", "close"}
    assert not [name for name in sorted(verbs - own) if name not in SECTION]
