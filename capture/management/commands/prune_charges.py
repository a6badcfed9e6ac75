"""``prune_charges``: delete old charges, by whole hands."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from capture.management.report import PruningCommand
from capture.pruning import prune_charges


class Command(PruningCommand):
    help = "Deletes the charges of hands that ended so long ago, with their rows among recent hands."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--pinned", action="store_true", help="also those of hands with pinned turns")

    def handle(self, *args: Any, **options: Any) -> None:
        dry_run: bool = options["dry_run"]
        with self.bar("hands", options) as bar:
            pruned = prune_charges(
                options["older_than"], dry_run=dry_run, with_pinned=options["pinned"], told=bar.update
            )
        self.report(asdict(pruned) | {"dry_run": dry_run}, options)
