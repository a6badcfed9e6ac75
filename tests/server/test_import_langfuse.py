"""Langfuse's trace exports come back whole: counted against the file by other code."""

import json
from pathlib import Path
from typing import Any

from capture.importing.building import ImportedRun
from tests.server.imported import bodies, counts, files, pairs, read, texts, told

# For each file: model calls, proposals, executions, and which proposal each execution carries out, read by eye.
_EXPECTED = {
    "claude-agent": (4, 2, 2, [None, None]),  # the export names no call ids for its tools
    "crewai": (1, 0, 0, []),
    "google-adk": (2, 1, 1, [0]),
    "langgraph-python": (2, 1, 1, [0]),
    "microsoft-agent": (2, 1, 1, [0]),
    "pydantic-ai-with-gemini": (1, 0, 0, []),
    "vercel-aisdk": (2, 1, 1, [0]),
}


def _raw(path: Path) -> Any:
    return json.loads(path.read_text())


def _found(run: ImportedRun) -> tuple[int, int, int, list[int | None]]:
    found = counts(run)
    assert found["model_call.started"] == found["model_call.finished"]
    assert found["tool.started"] == found["tool.finished"]
    return found["model_call.started"], found["tool.proposed"], found["tool.started"], pairs(run)


def test_every_call_proposal_and_execution_of_each_file_is_found() -> None:
    for path in files("langfuse-export"):
        named = path.name.partition("-2025")[0]
        (run,) = read(path).runs
        assert _found(run) == _EXPECTED[named], path
        observations = _raw(path)["observations"]
        generations = [each for each in observations if each["type"] == "GENERATION"]
        assert len(generations) == counts(run)["model_call.started"]
        assert run.key.run_id == _raw(path)["trace"]["id"]


def test_inputs_outputs_and_every_other_text_are_the_file_s_own() -> None:
    for path in files("langfuse-export"):
        (run,) = read(path).runs
        kept = {artifact.data.decode() for artifact in run.artifacts} | told(run)
        implied = {"GENERATION", "TOOL", "SPAN"}
        assert set(texts(_raw(path))) - implied <= kept | implied, path


def test_arguments_are_those_of_the_answer() -> None:
    (path,) = (each for each in files("langfuse-export") if "microsoft" in each.name)
    (run,) = read(path).runs
    (asked,), (execution,) = bodies(run, "tool.proposed"), bodies(run, "tool.started")
    assert asked["arguments"] == '{"location":"Tokyo, Japan"}' == execution["arguments"]
    assert asked["callId"] == execution["callId"] == "call_CwaJHuXTm9dmHFQPlVbqyzJ0"


def _observation(name: str, **fields: Any) -> dict[str, Any]:
    at = "2025-01-01T00:00:00.000Z"
    return {"id": name, "type": "SPAN", "name": name, "startTime": at, "endTime": at, **fields}


def _trace(tmp_path: Path, *observations: dict[str, Any]) -> ImportedRun:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"trace": {"id": "t", "name": "n"}, "observations": observations}))
    (run,) = read(path).runs
    return run


def test_a_trace_that_did_not_end_is_a_run_that_did_not_finish(tmp_path: Path) -> None:
    run = _trace(tmp_path, _observation("a", type="GENERATION", endTime=None))
    assert [event.kind for event in run.events] == ["run.started", "event", "model_call.started"]


def test_an_error_at_the_top_is_the_run_s(tmp_path: Path) -> None:
    run = _trace(tmp_path, _observation("a", level="ERROR", statusMessage="boom"))
    (ended,) = bodies(run, "run.finished")
    assert (ended["status"], ended["error"]["message"]) == ("error", "boom")


def test_parents_in_a_circle_are_cut(tmp_path: Path) -> None:
    one, two = _observation("a", parentObservationId="b"), _observation("b", parentObservationId="a")
    assert counts(_trace(tmp_path, one, two))["event"] == 3
