"""The project's own commands as a user runs them: in processes of their own, with a chosen environment."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Answer:
    """What a site process answered, and everything that it wrote to its log."""

    status: int
    headers: dict[str, str]
    body: str
    log: str


_ASK = """
import json, sys, django
django.setup()
from django.conf import settings
from django.test import Client
method, path, options = json.loads(sys.argv[1])
settings.ROOT_URLCONF = options.pop("urls", settings.ROOT_URLCONF)
options["headers"] = {"host": "capture.example.org"} | options.get("headers", {})
answer = Client(raise_request_exception=False).generic(method, path, **options)
headers = {name.lower(): value for name, value in answer.headers.items()}
print(json.dumps([answer.status_code, headers, b"".join(answer).decode()]))
"""


def ask(environment: dict[str, str], path: str, method: str = "GET", **options: Any) -> Answer:
    """Ask a site of this environment; ``options`` are those of Django's test client, and ``urls``.

    Plain http unless ``secure``.
    """
    site = environment | {"DJANGO_SETTINGS_MODULE": "capture_site.settings"}
    finished = run("-c", _ASK, json.dumps([method, path, options]), environment=site)
    assert finished.returncode == 0, finished.stderr
    status, sent, body = json.loads(finished.stdout)
    return Answer(status, sent, body, finished.stderr)


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
