"""``rebuild_hands``: make ``agent_hands`` agree with the ledger."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from capture.ledger import LedgerBusy, rebuild_hands
from capture.management.report import ReportCommand
from capture.models import AgentHand


class Command(ReportCommand):
    help = (
        "Makes agent_hands agree with the ledger, in chunks. Safe to run at any time, twice, and two at once."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        with self.bar("hands", options, total=AgentHand.objects.count() or None) as bar:
            try:
                rebuilt = rebuild_hands(bar.update)
            except LedgerBusy as exc:
                raise CommandError(str(exc)) from exc
        self.report({"hands": AgentHand.objects.count()} | asdict(rebuilt), options)
