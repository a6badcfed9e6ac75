"""``verify_records``: hash every pinned prompt anew."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from capture.management.figures import FiguresCommand, given_id, given_number
from capture.pins.verifying import Verdict, Verification, count_records, verify_records


class Command(FiguresCommand):
    help = "Hashes every pinned prompt anew. Exit status 1 when one is mismatched or unreadable. Changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--table", type=given_id, metavar="ID", help="this table alone")
        parser.add_argument("--hand", type=given_number, metavar="N", help="this hand number alone")

    def handle(self, *args: Any, **options: Any) -> None:
        scope = {"table_id": options["table"], "hand_number": options["hand"]}
        with self.bar("turns", options, total=count_records(**scope)) as bar:
            found = verify_records(**scope, on_turns=bar.update)
        self.tell(_figures(found), options)
        if not found.is_sound:
            raise CommandError(
                "what is kept has changed: the turns that are mismatched or unreadable are listed"
            )


def _figures(found: Verification) -> dict[str, object]:
    return {
        **{str(verdict): found.counts[verdict] for verdict in Verdict},
        "unavailableBy": dict(found.unavailable),
        "notVerified": [
            {
                "tableId": each.key.table_id,
                "handNumber": each.key.hand_number,
                "agentId": each.key.agent_id,
                "actionIndex": each.key.action_index,
                "verdict": str(each.verdict),
                "reason": each.reason,
            }
            for each in found.findings
        ],
        "notListed": found.unlisted,
    }
