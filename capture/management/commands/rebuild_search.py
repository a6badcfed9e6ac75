"""``rebuild_search``: make the search text anew from what is pinned."""

from typing import Any

from capture.management.figures import FiguresCommand
from capture.models import AgentSearchText
from capture.pins.verifying import count_records
from capture.search.index import pending, rebuild


class Command(FiguresCommand):
    help = (
        "Makes the search text anew from what is pinned, in chunks. Safe at any time, twice, and two at once."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        with self.bar("turns", options, total=count_records()) as bar:
            turns = rebuild(on_turns=bar.update)
        texts = AgentSearchText.objects.all()
        envelopes = texts.filter(env_hash__isnull=False).count()
        cut = texts.filter(is_cut=True).count()
        self.tell({"turns": turns, "envelopes": envelopes, "cut": cut, "pending": pending()}, options)
