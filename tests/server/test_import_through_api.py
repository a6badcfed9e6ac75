"""What was imported comes back through the API, every text byte for byte."""

import contextlib
import hashlib
import json
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from capture_sdk.runs.records import artifact_refs
from tests.server.imported import counts, files, read, texts

pytestmark = pytest.mark.django_db
ROOT = "/internal/agent-capture/"
KEY = "reader-key-0123456789abcdef"
# Words of the files' formats, which the kind of an event says.
_IMPLIED = {"tool", "tool_result", "model", "GENERATION", "TOOL", "SPAN"}


@pytest.fixture(autouse=True)
def key(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"reader:read-own@agent:{KEY}"


_CLIENT = Client()  # one for all: each loads the middleware anew


def _get(path: str, **params: str) -> Any:
    answer = _CLIENT.get(ROOT + path, params, headers={"X-Service-Key": KEY})
    assert answer.status_code == 200, answer.content
    return answer


def _events(run_id: str) -> list[dict[str, Any]]:
    """All events of a run, page by page."""
    events: list[dict[str, Any]] = []
    after: dict[str, str] = {}
    while True:
        page = _get("run", agentId="agent", runId=run_id, limit="40", **after).json()
        events += page["events"]
        if page["nextAfter"] is None:
            assert len(events) == page["total"] == page["kept"]
            return events
        after = {"after": page["nextAfter"]}


def _artifacts(run_id: str, events: list[dict[str, Any]]) -> list[str]:
    """Every artifact that the events refer to, as text."""
    named = {ref["$artifact"]: each["eventId"] for each in events for ref in artifact_refs(each["body"])}
    found = []
    for sha256, event_id in named.items():
        where = {"agentId": "agent", "runId": run_id, "eventId": event_id, "sha256": sha256}
        data = _get("run/artifact", **where).content
        assert hashlib.sha256(data).hexdigest() == sha256
        found.append(data.decode())
    return found


def _told(run_id: str) -> set[str]:
    events = _events(run_id)
    artifacts = _artifacts(run_id, events)
    found = set(artifacts) | {text for each in events for text in texts(each["body"])}
    for artifact in artifacts:
        with contextlib.suppress(ValueError):
            found |= set(texts(json.loads(artifact)))
    return found


def _raw(path: Path) -> list[Any]:
    """Every JSON value of a file."""
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            return [json.loads(archive.read(name)) for name in archive.namelist()]
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    return [json.loads(line) for line in lines if line.strip()]


@pytest.mark.parametrize("folder", ["claude-code", "inspect-ai", "langfuse-export", "tau-bench"])
def test_every_event_and_every_text_of_each_file_is_found_through_the_api(folder: str, buffer: Any) -> None:
    call_command("import_runs", str(files(folder)[0].parent), "--agent", "agent", stdout=StringIO())
    listed = {
        run["runId"]: run["counts"] for run in _get("runs", agentId="agent", limit="200").json()["runs"]
    }
    read_here = {path: read(path).runs for path in files(folder)}
    assert listed == {run.key.run_id: dict(counts(run)) for runs in read_here.values() for run in runs}
    for path, runs in read_here.items():
        found = {text for run in runs for text in _told(run.key.run_id)}
        assert set(texts(_raw(path))) - _IMPLIED <= found, path
