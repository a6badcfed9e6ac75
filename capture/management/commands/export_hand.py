"""``export_hand``: write a kept hand to a file that another installation can import."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from capture.exchange import ExchangeError, export_hand
from capture.hands import StoresUnavailable
from capture.management.figures import HandCommand, actor


class Command(HandCommand):
    help = (
        "Writes a kept hand, or the part of --agent, to FILE: records, envelopes and charges, byte for byte."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, metavar="FILE", help="is replaced if it is there")

    def handle(self, *args: Any, **options: Any) -> None:
        hand, path = (options["table"], options["hand"]), options["file"]
        try:
            done = export_hand(*hand, path, agents=options["agent"], by=actor("export_hand"))
        except (ExchangeError, StoresUnavailable) as exc:
            raise CommandError(f"nothing was exported: {exc}") from exc
        except OSError as exc:
            raise CommandError(f"{str(path)!r} cannot be written: {exc.strerror or exc}") from exc
        figures = {
            "tableId": hand[0],
            "handNumber": hand[1],
            "file": str(path),
            "agents": list(done.agents),
            "turns": done.records,
            "envelopes": done.envelopes,
            "charges": done.charges,
            "missing": [each.as_json() for each in done.missing],
            "inBuffer": None if done.in_buffer is None else [each.as_json() for each in done.in_buffer],
        }
        self.tell(figures, options)
        if done.in_buffer:
            self.stderr.write(f"{len(done.in_buffer)} turns are in the buffer alone: promote_hand keeps them")
