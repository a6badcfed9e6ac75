"""Every example of docs/sdk.md runs, from the first to the last, as a reader would type them."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from redis import Redis

from tests.site_process import ROOT


def test_the_examples_run_in_order_and_leave_their_turns_in_the_buffer(
    redis_url: str, tmp_path: Path
) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs" / "sdk.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) >= 10
    program = tmp_path / "examples.py"
    program.write_text("\n".join(blocks))
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "AGENT_CAPTURE_REDIS_URL": redis_url, "PYTHONPATH": str(ROOT)},
    )
    assert finished.returncode == 0, finished.stderr
    assert "lost" not in finished.stderr
    redis: Any = Redis.from_url(redis_url, protocol=2)
    keys = {key.decode() for key in redis.scan_iter("turn:*")}
    assert {"turn:t-1:7:river-rat:4", "turn:t-1:7:kim:5", "turn:t-1:7:kim:8", "turn:t-1:8:sam:2"} <= keys
    assert "turn:t-1:9:sam:1" not in keys  # a fallback leaves none


def test_every_option_is_documented() -> None:
    from dataclasses import fields

    from capture_sdk import Config

    text = (ROOT / "docs" / "sdk.md").read_text()
    assert not [each.name for each in fields(Config) if f"`{each.name}`" not in text]
