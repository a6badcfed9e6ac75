"""``prune_access_log``: delete old lines of the access log."""

from typing import Any

from capture.management.report import PruningCommand
from capture.pruning import prune_access_log


class Command(PruningCommand):
    help = "Deletes the lines of the access log that are so old."

    def handle(self, *args: Any, **options: Any) -> None:
        dry_run: bool = options["dry_run"]
        with self.bar("lines", options) as bar:
            lines = prune_access_log(options["older_than"], dry_run=dry_run, told=bar.update)
        self.report({"lines": lines, "dry_run": dry_run}, options)
