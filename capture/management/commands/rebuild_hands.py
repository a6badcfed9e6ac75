"""``rebuild_hands``: make ``agent_hands`` anew from the ledger."""

from typing import Any

from django.core.management.base import BaseCommand

from capture.ledger import rebuild_hands


class Command(BaseCommand):
    help = "Makes agent_hands anew from the ledger, in one transaction. Safe to run at any time, and twice."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{rebuild_hands()} hands rebuilt from the ledger")
