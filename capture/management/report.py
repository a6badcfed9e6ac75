"""What the maintenance commands share: a report at the end, for people or as JSON, and a bar on long work."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from typing import Any, Final

from django.core.management.base import BaseCommand
from tqdm import tqdm

_MOST_DAYS: Final = 36_500  # a century: what is more is a mistake, and no date


def days(given: str) -> int:
    """An age in whole days, at least one: none would delete what is being written. Raises ArgumentTypeError."""
    if not (given.isascii() and given.isdigit() and len(given) <= len(str(_MOST_DAYS))):
        raise ArgumentTypeError(
            f"{given[:40]!r} is no number of days: a whole one from 1 to {_MOST_DAYS} is wanted"
        )
    if not 1 <= int(given) <= _MOST_DAYS:
        raise ArgumentTypeError(f"{given} days: from 1 to {_MOST_DAYS} are taken")
    return int(given)


class ReportCommand(BaseCommand):
    """A command that ends with figures. With ``--json`` they are one JSON object, and nothing else is printed."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")

    def report(self, figures: Mapping[str, object], options: Mapping[str, Any]) -> None:
        """Print the figures: as JSON, or one line each."""
        if options["json"]:
            self.stdout.write(json.dumps(figures, allow_nan=False))
            return
        width = max(len(name) for name in figures)
        for name, value in figures.items():
            self.stdout.write(f"{name:<{width}}  {value}")

    def bar(self, what: str, options: Mapping[str, Any], *, total: int | None = None) -> "tqdm[Any]":
        """A bar on the terminal's standard error; none where nobody watches, or with ``--json``."""
        return tqdm(desc=what, total=total, disable=True if options["json"] else None, file=sys.stderr)


class PruningCommand(ReportCommand):
    """One that deletes what is old: says how much before it does, with ``--dry-run`` only says it."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--older-than", type=days, required=True, metavar="DAYS", help="age in whole days"
        )
        parser.add_argument("--dry-run", action="store_true", help="count, and delete nothing")
