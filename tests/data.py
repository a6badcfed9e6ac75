"""Where real input lies: ``CAPTURE_TEST_DATA``, or ``../shared/data`` beside the checkout."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("CAPTURE_TEST_DATA") or Path(__file__).parents[2] / "shared" / "data")


def needs(name: str) -> Path:
    """The folder of one data set; skips the test that asks for it where it is absent."""
    folder = ROOT / name
    if not folder.is_dir():
        pytest.skip(f"the data set {name} is not here; CAPTURE_TEST_DATA names the folder that holds it")
    return folder
