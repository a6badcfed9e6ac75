"""Tests may run in several processes: each has servers, and so stores, of its own."""

import os

if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    folder = os.environ.get("CAPTURE_EMBEDDED_DIR") or ".embedded/test"
    os.environ["CAPTURE_EMBEDDED_DIR"] = f"{folder}/{worker}"
