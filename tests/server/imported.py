"""What an imported run holds, and what a file holds, found by code that shares nothing with the readers."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from capture.importing import Format, Reading, read_file
from capture.importing.building import ImportedRun
from capture_sdk.runs.records import RunEvent, artifact_refs
from tests.data import needs


def files(folder: str) -> list[Path]:
    """The recorded runs of one format; skips where they are absent."""
    found = sorted((needs("03-agent-runs") / "trajectories" / folder).iterdir())
    assert found
    return found


def read(path: Path, wanted: Format | None = None) -> Reading:
    """What the importer reads from a file, for an agent."""
    return read_file(path, agent_id="agent", wanted=wanted)[1]


def body(event: RunEvent, run: ImportedRun) -> dict[str, Any]:
    """An event's body with each artifact in its place."""
    held = {each.sha256: each for each in run.artifacts}
    whole = {name: _put_back(value, held) for name, value in event.fields.items()}
    assert not list(artifact_refs(whole))
    return whole


def bodies(run: ImportedRun, kind: str) -> list[dict[str, Any]]:
    """The bodies of all events of a kind, with the event's id as ``id``."""
    return [{**body(event, run), "id": event.event_id} for event in run.events if event.kind == kind]


def counts(run: ImportedRun) -> Counter[str]:
    """Events by kind."""
    return Counter(event.kind for event in run.events)


def pairs(run: ImportedRun) -> list[int | None]:
    """For each execution, in its order, the place of its proposal among the proposals."""
    places = {each["id"]: place for place, each in enumerate(bodies(run, "tool.proposed"))}
    return [places.get(each.get("proposal", "")) for each in bodies(run, "tool.started")]


def texts(value: object) -> Iterator[str]:
    """Every text within a JSON value, names left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def told(*runs: ImportedRun) -> set[str]:
    """Every text that the runs hold, in bodies and artifacts."""
    return {text for run in runs for event in run.events for text in texts(body(event, run))}


def _put_back(value: Any, held: dict[str, Any]) -> Any:
    if isinstance(value, dict) and isinstance(value.get("$artifact"), str):
        artifact = held[value["$artifact"]]
        assert value["bytes"] == len(artifact.data)
        text = artifact.data.decode("utf-8", "surrogatepass")
        return text if artifact.media_type.startswith("text/") else json.loads(text)
    if isinstance(value, dict):
        return {name: _put_back(each, held) for name, each in value.items()}
    return [_put_back(each, held) for each in value] if isinstance(value, list) else value
