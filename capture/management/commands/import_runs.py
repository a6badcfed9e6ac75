"""``import_runs``: runs that others recorded, read from their files and kept."""

import json
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError

from capture.hands import StoresUnavailable
from capture.importing import Format, ImportedFile, Importer, printable
from capture.management.figures import FiguresCommand, actor, given_id
from capture_sdk.runs.records import EventKind

_COUNTED: Final = {
    "modelCalls": EventKind.MODEL_CALL_STARTED,
    "toolProposals": EventKind.TOOL_PROPOSED,
    "toolExecutions": EventKind.TOOL_STARTED,
}
_NOTHING: Final = dict.fromkeys(("runs", "events", *_COUNTED, "refused"), 0)


class Command(FiguresCommand):
    help = "Imports every run of each PATH, a file or a folder. Exit status 1 when a file was not taken, or not whole."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("paths", type=Path, nargs="+", metavar="PATH")
        parser.add_argument("--agent", type=given_id, metavar="ID", help="whose runs these are")
        parser.add_argument("--format", choices=[str(each) for each in Format], help="instead of looking")
        parser.add_argument("--dry-run", action="store_true", help="read and count, and keep nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = Format(options["format"]) if options["format"] else None
        importer = Importer(actor("import_runs"), options["agent"], wanted, dry_run=options["dry_run"])
        sums, partial = Counter(_NOTHING), 0
        try:
            for file in importer.take(options["paths"]):
                self._name(file, options)
                sums.update(_figures(file))
                partial += bool(file.notes)
        except StoresUnavailable as exc:
            raise CommandError(f"{exc}; {sums['runs']} runs were imported before") from exc
        finally:
            self.report(dict(sums), options)
        if sums["refused"] or partial:
            raise CommandError(f"{sums['refused']} files were not imported, and {partial} only in part")

    def _name(self, file: ImportedFile, options: dict[str, Any]) -> None:
        """One line a file."""
        if options["json"]:
            self.stdout.write(json.dumps(_line(file), allow_nan=False))
        elif file.refused is not None:
            self.stdout.write(f"refused   {printable(str(file.path))}: {file.refused}")
        else:
            told = f"{file.format}, {len(file.runs)} runs, {file.events} events, {file.inserted} new"
            self.stdout.write("; ".join((f"imported  {printable(str(file.path))}: {told}", *file.notes)))


def _figures(file: ImportedFile) -> dict[str, int]:
    counted = {name: file.count(kind) for name, kind in _COUNTED.items()}
    refused = int(file.refused is not None)
    return {"runs": len(file.runs), "events": file.events, **counted, "refused": refused}


def _line(file: ImportedFile) -> dict[str, object]:
    """What ``--json`` prints of a file."""
    if file.refused is not None:
        return {"file": str(file.path), "refused": file.refused}
    runs = [{"agentId": run.key.agent_id, "runId": run.key.run_id} for run in file.runs]
    figures = _figures(file) | {"runs": runs, "inserted": file.inserted, "notes": list(file.notes)}
    del figures["refused"]
    return {"file": str(file.path), "format": str(file.format), **figures}
