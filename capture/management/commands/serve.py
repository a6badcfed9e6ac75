"""``serve``: the start command of a service. It looks before it starts; restarted workers do not."""

import os
import sys
import tempfile
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Checks the installation as check --deploy does, and then serves it with gunicorn."
    requires_system_checks = []  # the full check below says it once

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000", help="address and port, or unix:PATH")
        parser.add_argument("--workers", type=int, default=2, help="worker processes; they hold no state")

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("check", deploy=True, stdout=self.stdout, stderr=self.stderr)
        # Private to this run: its workers put their figures there, and gunicorn's end removes it.
        folder = tempfile.mkdtemp(prefix="capture-metrics-")
        # Not "-m gunicorn": a master replaced by USR2 would find gunicorn's own "http" before Python's.
        command = [sys.executable, "-m", "gunicorn.app.wsgiapp", "--config", "python:capture_site.serving"]
        command += ["--bind", options["bind"], "--workers", str(options["workers"])]
        environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": folder}
        os.execve(sys.executable, command, environment)  # noqa: S606 - no shell, and this process becomes gunicorn
