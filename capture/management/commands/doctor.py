"""``doctor``: what is wrong with this installation, and how it is mended."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from capture.doctor.examine import examine


class Command(BaseCommand):
    help = "Looks at the whole installation and says what is wrong. Exit status 0 is healthy, 1 has findings."
    requires_system_checks = []  # what they would stop at is what the doctor explains

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found = examine()
        self.stdout.write(found.as_json() if options["json"] else found.as_text())
        if not found.is_healthy:
            sys.exit(1)
