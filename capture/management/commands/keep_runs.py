"""``keep_runs``: keep runs by rule, within a daily budget. For a timer."""

import math
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any, Final

from django.core.management.base import CommandError

from capture.limits import LISTED_TURNS, MIB
from capture.management.figures import FiguresCommand, actor
from capture.runs.rules import Rule, Ruled, keep_by_rule
from capture.runs.run import RunStatus

_STATUSES: Final = [str(each) for each in RunStatus if each is not RunStatus.UNKNOWN]


def share(given: str) -> float:
    """A share in per cent, such as ``1%``. Raises ArgumentTypeError."""
    try:
        found = float(given.removesuffix("%")) / 100
    except ValueError:
        found = math.nan
    if not (given.endswith("%") and 0 < found <= 1):
        raise ArgumentTypeError(f"{given[:40]!r} is no share: one such as 1% is wanted, up to 100%")
    return found


class Command(FiguresCommand):
    help = (
        "Keeps the runs of the buffer of which any of the conditions holds, within what a day may cost, those that "
        "expire first first. Exit status 1 when a store was down."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        add = parser.add_argument
        add(
            "--status",
            action="append",
            choices=_STATUSES,
            default=[],
            help="runs that ended so; may be repeated",
        )
        add("--kind", action="append", default=[], help="runs with an event of this kind; may be repeated")
        add("--sample", type=share, default=0.0, metavar="SHARE", help="a share of all runs, such as 1%%")
        add("--agent", action="append", help="runs of this agent alone; may be repeated")
        add(
            "--budget-mb", type=int, metavar="MB", help="MiB that rules may keep in a day (UTC), all together"
        )
        add("--dry-run", action="store_true", help="count, and keep nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        rule = _rule(options)
        with self.bar("runs", options) as bar:
            done = keep_by_rule(
                rule,
                most=None if options["budget_mb"] is None else options["budget_mb"] * MIB,
                by=actor("keep_runs"),
                dry_run=options["dry_run"],
                told=bar.update,
            )
        self.tell(_figures(done) | {"dryRun": options["dry_run"]}, options)
        if done.failure is not None:
            raise CommandError(f"not everything was looked at or kept: {done.failure}; run it again")


def _rule(options: dict[str, Any]) -> Rule:
    if not (options["status"] or options["kind"] or options["sample"]):
        raise CommandError("nothing is chosen: give --status, --kind or --sample")
    if options["budget_mb"] is not None and options["budget_mb"] < 0:
        raise CommandError("--budget-mb must not be negative")
    return Rule(
        statuses=frozenset(map(RunStatus, options["status"])),
        kinds=tuple(options["kind"]),
        sample=options["sample"],
        agents=None if options["agent"] is None else frozenset(options["agent"]),
    )


def _figures(done: Ruled) -> dict[str, object]:
    return {
        "lookedAt": done.looked_at,
        "wanted": dict(done.wanted),
        "kept": dict(done.kept),
        "events": done.events,
        "bytes": done.bytes,
        "missing": done.missing,
        "leftOut": [
            {"agentId": key.agent_id, "runId": key.run_id, "reason": why}
            for key, why in done.left_out[:LISTED_TURNS]
        ],
        "notListed": max(0, len(done.left_out) - LISTED_TURNS),
    }
