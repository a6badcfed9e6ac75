"""``import_hand``: read back what ``export_hand`` wrote."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from capture.exchange import ExchangeError, Import, import_hand
from capture.hands import StoresUnavailable
from capture.management.figures import FiguresCommand, actor


class Command(FiguresCommand):
    help = (
        "Imports FILE in one transaction, and overwrites nothing. Exit status 1 when something here differs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--dry-run", action="store_true", help="check and count, and keep nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        try:
            done = import_hand(path, by=actor("import_hand"), dry_run=options["dry_run"])
        except (ExchangeError, StoresUnavailable) as exc:
            raise CommandError(f"nothing was imported: {exc}") from exc
        except OSError as exc:
            raise CommandError(f"{str(path)!r} cannot be read: {exc.strerror or exc}") from exc
        self.tell(_figures(done) | {"dryRun": options["dry_run"]}, options)
        if done.conflicts:
            raise CommandError(
                f"{len(done.conflicts)} conflicts: what is here differs, and was left as it is"
            )


def _figures(done: Import) -> dict[str, object]:
    kinds = {"turns": done.records, "envelopes": done.envelopes, "charges": done.charges}
    return {
        "tableId": done.manifest.table_id,
        "handNumber": done.manifest.hand_number,
        "agents": list(done.manifest.agents),
        **{name: {"inserted": tally.inserted, "present": tally.present} for name, tally in kinds.items()},
        "prompts": {str(verdict): count for verdict, count in done.prompts.items()},
        "missing": [each.as_json() for each in done.missing],
        "conflicts": done.conflicts,
    }
