"""``prune_runs``: delete old kept runs."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from capture.management.report import PruningCommand
from capture.runs.pruning import prune_runs


class Command(PruningCommand):
    help = (
        "Deletes the runs that rules kept and to which nothing was added for so long, with their artifacts."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--all", action="store_true", help="also those that people kept, and imported ones"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        dry_run: bool = options["dry_run"]
        with self.bar("runs", options) as bar:
            pruned = prune_runs(
                options["older_than"], everything=options["all"], dry_run=dry_run, told=bar.update
            )
        self.report(asdict(pruned) | {"dry_run": dry_run}, options)
