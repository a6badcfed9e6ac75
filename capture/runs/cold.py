"""Reads of kept runs in Postgres. They raise what Django raises: ``capture.durable`` tells an outage from an error."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from capture.models import AgentRun, AgentRunArtifact, AgentRunEvent
from capture.runs.order import HeldEvent, opened
from capture_sdk.runs.records import RunKey


@dataclass(frozen=True, slots=True)
class KeptRows:
    """What is kept of a run: nothing where ``row`` is None."""

    row: AgentRun | None = None
    events: tuple[HeldEvent, ...] = ()


def kept_run(key: RunKey) -> KeptRows:
    """The run, whole, in two queries."""
    row = AgentRun.objects.filter(agent_id=key.agent_id, run_id=key.run_id).first()
    if row is None:
        return KeptRows()
    events = row.events.order_by("arrival", "event_id").values_list("event_id", "arrival", "data")
    return KeptRows(row, tuple(opened(key, name, arrival, bytes(data)) for name, arrival, data in events))


def kept_event(key: RunKey, event_id: str) -> HeldEvent | None:
    """One event, without the others of its run."""
    rows = AgentRunEvent.objects.filter(run__agent_id=key.agent_id, run__run_id=key.run_id, event_id=event_id)
    found = rows.values_list("arrival", "data").first()
    return None if found is None else opened(key, event_id, found[0], bytes(found[1]))


def kept_heads(keys: Sequence[RunKey]) -> dict[RunKey, AgentRun]:
    """The rows of those of these runs that are kept."""
    rows = AgentRun.objects.filter(
        agent_id__in={key.agent_id for key in keys}, run_id__in={key.run_id for key in keys}
    )
    wanted = set(keys)
    return {key: row for row in rows if (key := key_of(row)) in wanted}


def kept_artifacts(hashes: Iterable[str]) -> dict[str, bytes]:
    """The artifacts of these hashes that are kept, as they are stored."""
    rows = AgentRunArtifact.objects.filter(sha256__in=sorted(set(hashes))).values_list("sha256", "data")
    return {sha256: bytes(data) for sha256, data in rows}


def key_of(row: AgentRun) -> RunKey:
    """Which run it is."""
    return RunKey(row.agent_id, row.run_id)
