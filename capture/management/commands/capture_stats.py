"""``capture_stats``: what both stores hold, in figures."""

from typing import Any

from django.core.management.base import CommandError

from capture.management.figures import FiguresCommand
from capture.stats import BufferFigures, DurableFigures, collect


class Command(FiguresCommand):
    help = "Prints what buffer and durable store hold. Exit status 1 when one is down; the other's figures are given."

    def handle(self, *args: Any, **options: Any) -> None:
        with self.bar("keys", options) as bar:
            stats = collect(on_keys=bar.update)
        buffer = None if stats.buffer is None else _buffer(stats.buffer)
        durable = None if stats.durable is None else _durable(stats.durable)
        self.tell({"buffer": buffer, "durable": durable, "down": stats.down}, options)
        if stats.buffer is not None and stats.buffer.without_ttl:
            self.stderr.write(
                f"{stats.buffer.without_ttl} keys of the capture Redis have no TTL and never expire"
            )
        if stats.down:
            raise CommandError(f"no answer from: {', '.join(stats.down)}")


_KINDS = (
    *("turns", "hands", "seats", "envelopes", "dictionaries"),
    *("runs", "runLists", "artifacts", "other"),
)


def _buffer(figures: BufferFigures) -> dict[str, object]:
    sample, keys = figures.sample, figures.keys
    return {
        "keys": {kind: keys[kind] for kind in _KINDS},
        "memoryBytes": dict(figures.memory_bytes),
        "contentBytes": dict(figures.content_bytes),
        "turnsPerEnvelope": round(keys["turns"] / keys["envelopes"], 2) if keys["envelopes"] else None,
        "storedBytes": figures.stored_bytes,
        "rawBytes": figures.raw_bytes,
        "turnsRead": sample.read,
        "turnsUnreadable": sample.unreadable,
        "ttl": dict(figures.ttl),
        "withoutTtl": figures.without_ttl,
        "server": figures.server,
        "clients": sample.clients,
        "losses": sample.losses,
    }


def _durable(figures: DurableFigures) -> dict[str, object]:
    return {
        "rows": figures.rows,
        "estimated": figures.estimated,
        "diskBytes": figures.disk_bytes,
        "bytesPerTurn": figures.bytes_per_turn,
    }
