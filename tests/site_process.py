"""The project's own commands as a user runs them: in processes of their own, with a chosen environment."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings

ROOT = Path(__file__).resolve().parent.parent
# A complete production environment; nobody listens there, and nothing that only loads settings should mind.
PRODUCTION = {
    "SECRET_KEY": "a-long-and-random-string-that-is-only-used-by-these-tests-0123456789",
    "DATABASE_URL": "postgres://capture:hunter2hunter2@127.0.0.1:1/capture",
    "AGENT_CAPTURE_REDIS_URL": "redis://:hunter2hunter2@127.0.0.1:1/0",
    "ALLOWED_HOSTS": "capture.example.org",
    "AGENT_CAPTURE_SERVICE_KEYS": "operator:read-all:hunter2hunter2hunter2hunter2",
}
STRONG_KEY = "hunter2-Vq7zLm3TxRw9bNc5Jd8sKp"
Finished = subprocess.CompletedProcess[str]


def run(*arguments: str, environment: dict[str, str] | None = None, **options: Any) -> Finished:
    """Run Python with these arguments in the checkout; only ``environment`` of our variables reaches it."""
    plain = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=plain | (environment or {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def manage(*arguments: str, environment: dict[str, str] | None = None) -> Finished:
    """Run a management command."""
    return run("manage.py", *arguments, environment=environment)


def live(redis_url: str, database: str = "test_capture") -> dict[str, str]:
    """A production environment whose stores answer: this buffer, and a database beside the tests' own."""
    server = settings.DATABASES["default"]["OPTIONS"]["host"]
    return PRODUCTION | {
        "DATABASE_URL": f"postgres://postgres@/{database}?host={server}",
        "AGENT_CAPTURE_REDIS_URL": redis_url,
        "AGENT_CAPTURE_SERVICE_KEYS": f"operator:read-all:{STRONG_KEY}",
        "TRUST_PROXY_TLS": "1",
    }


def forget(root: Path) -> None:
    """Wait until no embedded stack below runs, then remove what it keeps outside of its folder."""
    time.sleep(2.5)
    for note in root.rglob("elsewhere"):
        for each in note.read_text().splitlines():
            shutil.rmtree(each, ignore_errors=True)


def without(*names: str) -> dict[str, str]:
    """The production environment with some variables left out."""
    return {name: value for name, value in PRODUCTION.items() if name not in names}
