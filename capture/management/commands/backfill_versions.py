"""``backfill_versions``: give pinned turns the agent version that their charge has."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from capture.management.report import ReportCommand
from capture.pins.backfill import backfill_versions


class Command(ReportCommand):
    help = "Gives pinned turns without an agent version that of the charge with their key. Never changes one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        dry_run: bool = options["dry_run"]
        with self.bar("turns", options) as bar:
            done = backfill_versions(dry_run=dry_run, told=bar.update)
        self.report(asdict(done) | {"dry_run": dry_run}, options)
