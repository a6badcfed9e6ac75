"""``import_runs``: from files to runs that are kept, once however often, and told file by file."""

import contextlib
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from capture.importing.building import ImportedRun
from capture.models import AgentAccess, AgentRun, AgentRunEvent
from capture.runs.pairing import pair
from capture.runs.reading import read_artifacts, read_run
from capture.runs.run import RunState
from capture_sdk.runs.records import artifact_refs
from tests.data import needs
from tests.server.imported import counts, files, pairs, read

pytestmark = pytest.mark.django_db
_FOLDERS = ("claude-code", "inspect-ai", "langfuse-export", "tau-bench")
_SUMS = ["runs", "events", "modelCalls", "toolProposals", "toolExecutions", "refused"]


def _import(*args: str) -> list[dict[str, Any]]:
    """What the command prints with ``--json``, whatever its exit status."""
    out = StringIO()
    with contextlib.suppress(CommandError):
        call_command("import_runs", *args, "--json", stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("folder", _FOLDERS)
def test_every_run_comes_back_from_the_store_as_it_was_read(folder: str, buffer: Any) -> None:
    paths = files(folder)
    *lines, sums = _import(str(paths[0].parent), "--agent", "agent")
    assert [line["file"] for line in lines] == list(map(str, paths))
    assert sums["refused"] == 0
    for path, line in zip(paths, lines, strict=True):
        runs = read(path).runs
        assert [each["runId"] for each in line["runs"]] == [run.key.run_id for run in runs]
        for run in runs:
            _assert_stored(run)


def _assert_stored(run: ImportedRun) -> None:
    stored = read_run(run.key)
    assert stored.events == run.events
    assert (stored.head.state, stored.gaps, stored.damaged) == (RunState.KEPT, (), ())
    held = {each.sha256: each.data for each in run.artifacts}
    assert read_artifacts(held) == held
    named = {ref["$artifact"] for event in stored.events for ref in artifact_refs(event.fields)}
    assert named == held.keys()
    _assert_paired(run)


def _assert_paired(run: ImportedRun) -> None:
    """The evidence joins what the file joins, and nothing else; what never pairs stays by itself."""
    paired, found, joined = pair(read_run(run.key).events), counts(run), pairs(run)
    places = {each.event_id: place for place, each in enumerate(paired.proposals)}
    answered = [each.proposal and places[each.proposal.event_id] for each in paired.executions]
    assert answered == joined
    assert len(paired.unexecuted) == found["tool.proposed"] - len(
        {each for each in joined if each is not None}
    )
    assert len(paired.calls) == found["model_call.started"]
    assert not [each for each in (*paired.calls, *paired.executions) if each.is_open or each.repeats]
    assert (paired.loose, paired.unknown) == ((), ())


def test_importing_twice_adds_nothing(buffer: Any, tmp_path: Path) -> None:
    (path, *_) = files("tau-bench")
    (first, sums) = _import(str(path), "--agent", "a")
    copy = tmp_path / "under-another-name.json"
    copy.write_bytes(path.read_bytes())
    (again, same) = _import(str(copy), "--agent", "a")
    assert (first["inserted"], again["inserted"]) == (first["events"], 0)
    assert sums == same
    assert AgentRunEvent.objects.count() == first["events"]
    assert AgentRun.objects.get().agent_id == "a"


def test_a_session_that_grew_is_continued(buffer: Any, tmp_path: Path) -> None:
    (path,) = (each for each in files("claude-code") if "compaction" in each.name)
    lines = path.read_bytes().splitlines(keepends=True)
    young = tmp_path / path.name
    young.write_bytes(b"".join(lines[:3]))
    _import(str(young), "--agent", "agent")
    (line, _) = _import(str(path), "--agent", "agent")
    assert 0 < line["inserted"] < line["events"]
    (run,) = read(path).runs
    assert read_run(run.key).events == run.events


def test_the_figures_are_those_of_the_files(buffer: Any) -> None:
    *lines, sums = _import(str(needs("03-agent-runs") / "trajectories"), "--dry-run")
    assert list(sums) == _SUMS
    taken = [line for line in lines if "refused" not in line]
    assert sums["refused"] == len(lines) - len(taken)
    assert sums["runs"] == sum(len(line["runs"]) for line in taken)
    assert [sums[name] for name in _SUMS[1:-1]] == [sum(line[name] for line in taken) for name in _SUMS[1:-1]]
    assert not AgentRun.objects.exists()
    assert not AgentAccess.objects.exists()


def test_a_refused_file_is_named_with_its_reason_and_the_others_go_on(buffer: Any, tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J.json").write_text("{")
    (tmp_path / "b.json").write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    out = StringIO()
    with pytest.raises(CommandError, match=r"^1 files were not imported, and 0 only in part$"):
        call_command("import_runs", str(tmp_path), stdout=out)
    assert "refused   " in out.getvalue()
    assert "\\x1b[2J.json: it is cut short: " in out.getvalue()
    assert out.getvalue().isascii()
    assert AgentRun.objects.get().agent_id == "messages"


def test_a_file_read_in_part_is_said_and_is_no_success(buffer: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"type": "user", "sessionId": "s", "message": {"role": "user", "content": "a"}}\n{"type": '
    )
    (line, sums) = _import(str(path))
    assert line["notes"] == ["line 2 is cut short and was left out"]
    assert (sums["runs"], sums["refused"]) == (1, 0)


def test_whoever_imports_stands_in_the_access_log(buffer: Any) -> None:
    (path, *_) = files("langfuse-export")
    _import(str(path), "--agent", "mine", "--format", "langfuse")
    line = AgentAccess.objects.get()
    assert (line.action, line.agents, line.run_id) == ("import_run", ["mine"], AgentRun.objects.get().run_id)
    assert line.actor.startswith("command:import_runs by ")
