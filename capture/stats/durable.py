"""The durable side in figures: rows, and bytes on disk with indexes and everything."""

from dataclasses import dataclass

from django.db import InterfaceError, OperationalError, connection, models

from capture.hands import StoresUnavailable
from capture.limits import STATS_EXACT_ROWS
from capture.models import (
    AgentCallDictionary,
    AgentCallEnvelope,
    AgentCallRecord,
    AgentHand,
    AgentInferenceCharge,
    AgentRun,
    AgentRunArtifact,
    AgentRunEvent,
    AgentSearchText,
)

_TABLES: dict[str, type[models.Model]] = {
    "turns": AgentCallRecord,
    "envelopes": AgentCallEnvelope,
    "dictionaries": AgentCallDictionary,
    "charges": AgentInferenceCharge,
    "hands": AgentHand,
    "searchTexts": AgentSearchText,
    "runs": AgentRun,
    "runEvents": AgentRunEvent,
    "artifacts": AgentRunArtifact,
}


@dataclass(frozen=True, slots=True)
class DurableFigures:
    """Rows and bytes on disk by what they are; ``estimated`` names the row counts that are Postgres's own estimate.

    ``bytes_per_turn`` is what a pinned turn costs with envelopes and dictionaries, and without its search text; it is
    None for no turns.
    """

    rows: dict[str, int]
    disk_bytes: dict[str, int]
    estimated: list[str]
    bytes_per_turn: float | None


def durable_figures() -> DurableFigures:
    """Ask Postgres. A count that would walk millions of rows is taken from its statistics. Raises StoresUnavailable."""
    try:
        looked_up = {name: _look_up(model) for name, model in _TABLES.items()}
        estimated = [name for name, (rows, _) in looked_up.items() if rows > STATS_EXACT_ROWS]
        rows = {
            name: looked_up[name][0] if name in estimated else model._default_manager.count()
            for name, model in _TABLES.items()
        }
    except (OperationalError, InterfaceError) as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc
    disk = {name: size for name, (_, size) in looked_up.items()}
    evidence = disk["turns"] + disk["envelopes"] + disk["dictionaries"]
    return DurableFigures(
        rows, disk, estimated, round(evidence / rows["turns"], 1) if rows["turns"] else None
    )


def _look_up(model: type[models.Model]) -> tuple[int, int]:
    """Postgres's estimate of the rows, -1 where it has none yet, and the bytes on disk."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples::bigint, pg_total_relation_size(oid) FROM pg_class WHERE oid = %s::regclass",
            [model._meta.db_table],
        )
        rows, size = cursor.fetchone()
    return int(rows), int(size)
