"""``replay_hands``: recorded hands in the PHH format, played through the pipeline that live ones take."""

import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from capture.auth import Scope, plain_key
from examples.poker.management.commands.demo import summary
from examples.poker.readback import Reader
from examples.poker.recorded import BrokenHand, RecordedHand, read
from examples.poker.replay import Replay, client
from examples.poker.site import Site


class Command(BaseCommand):
    help = "Plays recorded poker hands (PHH files or folders): each recorded action is a captured turn."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "files", nargs="+", metavar="FILE", help="a .phh file, or a folder that holds some"
        )
        parser.add_argument("--json", action="store_true", help="end with the figures as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        key = plain_key(Scope.READ_ALL)
        if key is None:
            raise CommandError("AGENT_CAPTURE_SERVICE_KEYS needs a key with read-all, to read the turns back")
        hands, broken = self._read(options["files"])
        started = time.monotonic()
        with client() as capture, Site(0) as site:
            replay = Replay(capture)
            replay.play(hands)
            seconds = time.monotonic() - started
            played = sorted({(hand.table_id, hand.hand_number) for hand in hands})
            account = Reader(site.url, key).account(played, replay.witness)
        result = account.as_json(hands=len(hands), pinned_hand=None, seconds=seconds)
        self.stdout.write(json.dumps(result) if options["json"] else summary(result))
        if broken:
            sys.exit(1)

    def _read(self, names: list[str]) -> tuple[list[RecordedHand], int]:
        """Every hand that can be played; each that cannot is named with its line and reason, and counted."""
        hands, broken = [], 0
        for path in _files(names):
            try:
                hands.append(read(path))
            except BrokenHand as exc:
                broken += 1
                self.stderr.write(f"{path}: {exc}")
        return hands, broken


def _files(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        yield from sorted(path.rglob("*.phh")) if path.is_dir() else [path]
