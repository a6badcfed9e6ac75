"""``seed_ledger``: fill the ledger with synthetic charges, and remove them."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from capture.ledger.seeding import PER_HAND, remove_seeded, seed, seeded
from capture.management.report import ReportCommand


class Command(ReportCommand):
    help = (
        "Fills the ledger with synthetic charges of the tables seed-0 to seed-49; --remove takes them away. "
        "Running it again adds nothing twice."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        wanted = parser.add_mutually_exclusive_group(required=True)
        wanted.add_argument("--rows", type=int, metavar="N", help="have N synthetic charges, in whole hands")
        wanted.add_argument("--remove", action="store_true", help="remove every synthetic charge and hand")
        parser.add_argument(
            "--per-hand", type=int, default=PER_HAND, metavar="N", help=f"charges a hand ({PER_HAND})"
        )
        parser.add_argument("--dry-run", action="store_true", help="with --remove: count, and remove nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"] and not options["remove"]:
            raise CommandError(
                "--dry-run belongs to --remove: seeding a second time adds nothing, so try a small --rows"
            )
        if options["remove"]:
            self._remove(options)
            return
        with self.bar("charges", options, total=options["rows"]) as bar:
            try:
                done = seed(options["rows"], per_hand=options["per_hand"], advance=bar.update)
            except ValueError as exc:
                raise CommandError(str(exc)) from exc
        self.report({"added": done.rows, "hands": done.hands}, options)

    def _remove(self, options: dict[str, Any]) -> None:
        if options["dry_run"]:
            found = seeded()
            self.report({"wouldRemove": found.rows, "hands": found.hands}, options)
            return
        with self.bar("charges", options) as bar:
            done = remove_seeded(advance=bar.update)
        self.report({"removed": done.rows, "hands": done.hands}, options)
