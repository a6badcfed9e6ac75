"""The curl examples of docs/api.md, run as they stand there, against a server that listens."""

import json
import os
import re
import shutil
import subprocess
from typing import Any

import pytest

from tests.site_process import ROOT

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "example-key-0123456789abcdef"
PAGE = (ROOT / "docs" / "api.md").read_text()
EXAMPLES = re.findall(r"^```console\n\$ (curl .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def run(command: str, base: str) -> str:
    environment = {"PATH": os.environ["PATH"], "BASE": base, "KEY": KEY, "NO_PROXY": "*"}
    finished = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def split_example(text: str) -> tuple[str, str]:
    """The command, which ends where no quote or backslash leads on, and what it is said to print."""
    lines = text.splitlines()
    for end in range(1, len(lines) + 1):
        command = "\n".join(lines[:end])
        if command.count("'") % 2 == 0 and not command.endswith("\\"):
            return command, "\n".join(lines[end:])
    raise AssertionError(text)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples need curl")
def test_every_example_does_what_it_is_said_to_do(live_server: Any, settings: Any, buffer: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"all:ingest+read-all+promote:{KEY}"
    assert len(EXAMPLES) >= 5
    for example in EXAMPLES:
        command, said = split_example(example)
        printed = run(command, live_server.url)
        if said.startswith("{"):
            assert json.loads(printed) == json.loads(said), command
        elif said:
            assert printed.strip() == said.strip()
