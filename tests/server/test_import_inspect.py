"""Inspect's logs come back whole: counted against the file by other code."""

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from capture.importing import FileRefused
from capture.importing.building import ImportedRun
from tests.server.imported import bodies, counts, files, pairs, read, texts, told


def _samples(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
            return [json.loads(archive.read(name)) for name in names]
    log = json.loads(path.read_text())
    return log.get("samples") or [log]


def _events(sample: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    events = sample["events"] if "events" in sample else sample["transcript"]["events"]
    return [event for event in events if event["event"] == kind]


def _asked(event: dict[str, Any]) -> list[dict[str, Any]]:
    choices = event["output"]["choices"]
    return [call for choice in choices for call in choice["message"].get("tool_calls") or ()]


def _by_sample(path: Path) -> list[tuple[dict[str, Any], list[ImportedRun]]]:
    """Each sample with its runs: its own, and those of the agents within it."""
    runs = list(read(path).runs)
    groups: list[list[ImportedRun]] = []
    for run in runs:
        if "outer" in bodies(run, "run.started")[0]:
            groups[-1].append(run)
        else:
            groups.append([run])
    return list(zip(_samples(path), groups, strict=True))


def test_every_call_proposal_and_execution_of_each_file_is_found() -> None:
    for path in files("inspect-ai"):
        for sample, runs in _by_sample(path):
            found = sum(map(counts, runs), Counter[str]())
            models, tools = _events(sample, "model"), _events(sample, "tool")
            calls = [call for event in models for call in _asked(event)]
            assert found["model_call.started"] == found["model_call.finished"] == len(models)
            assert found["tool.proposed"] == len(calls)
            assert found["tool.started"] == found["tool.finished"] == len(tools)
            places = {call["id"]: place for place, call in enumerate(calls)}
            assert pairs(runs[0]) == [places.get(event["id"]) for event in tools]
            assert found["run.finished"] == len(runs) - (
                "expected" in sample
            )  # a transcript alone has no end


def test_every_message_of_each_file_is_found() -> None:
    for path in files("inspect-ai"):
        for sample, runs in _by_sample(path):
            given = [each for each in sample.get("messages", ()) if each["role"] != "assistant"]
            told_here = [each["data"] for each in bodies(runs[0], "event") if each["name"] == "message"]
            assert told_here == given
            assert set(texts(sample)) - {"model", "tool"} <= told(*runs), path


def test_the_request_is_the_one_that_was_sent_with_its_texts_put_back() -> None:
    (path,) = (each for each in files("inspect-ai") if "popularity" in each.name)
    for sample, (run,) in _by_sample(path):
        (call,) = bodies(run, "model_call.started")
        sent = [message["content"] for message in call["request"]["messages"]]
        assert sent == [sample["messages"][0]["content"], sample["messages"][1]["content"]]
        assert (call["provider"], call["model"]) == ("openai", "openai/gpt-4o-mini")
        (answered,) = bodies(run, "model_call.finished")
        assert answered["output"] == _events(sample, "model")[0]["call"]["response"]


def test_an_agent_within_an_agent_is_a_run_of_its_own() -> None:
    (path,) = (each for each in files("inspect-ai") if "subagent" in each.name)
    main, helper = read(path).runs
    assert bodies(helper, "run.started")[0]["outer"] == {"agentId": "agent", "runId": main.key.run_id}
    assert counts(helper)["model_call.started"] == 1


def _write(tmp_path: Path, *events: dict[str, Any]) -> Path:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {"eval_id": "e"}, "samples": [{"id": 1, "events": events}]}))
    return path


def _model(**output: Any) -> dict[str, Any]:
    call = {"id": "c", "function": "rm", "arguments": {"path": "/"}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    return {
        "event": "model",
        "model": "m",
        "input": [],
        "output": {"choices": [{"message": message}], **output},
    }


def test_a_rejected_call_is_denied_and_was_not_executed(tmp_path: Path) -> None:
    asked = {"id": "c", "function": "rm", "arguments": {}}
    approval = {
        "event": "approval",
        "call": asked,
        "decision": "reject",
        "explanation": "no",
        "approver": "human",
    }
    refused = {"event": "tool", "id": "c", "function": "rm", "error": {"type": "approval", "message": "no"}}
    (run,) = read(_write(tmp_path, _model(), approval, refused)).runs
    (denied,) = bodies(run, "tool.denied")
    assert (denied["reason"], denied["by"]) == ("no", "human")
    assert denied["proposal"] == bodies(run, "tool.proposed")[0]["id"]
    assert "tool.started" not in counts(run)


def test_a_failed_tool_and_a_failed_call_are_errors(tmp_path: Path) -> None:
    tool = {"event": "tool", "id": "x", "function": "ls", "error": {"type": "timeout", "message": "slow"}}
    (run,) = read(_write(tmp_path, {**_model(), "error": "overloaded"}, tool)).runs
    (call,), (execution,) = bodies(run, "model_call.finished"), bodies(run, "tool.finished")
    assert (call["status"], call["error"]["message"]) == ("error", "overloaded")
    assert (execution["status"], execution["error"]) == ("error", {"type": "timeout", "message": "slow"})
    assert pairs(run) == [None]


def test_what_a_tool_did_inside_stands_within_it(tmp_path: Path) -> None:
    tool = {
        "event": "tool",
        "id": "c",
        "function": "rm",
        "result": "1",
        "events": [{"event": "info", "data": 1}],
    }
    (run,) = read(_write(tmp_path, _model(), tool)).runs
    (execution,) = [event for event in run.events if event.kind == "tool.started"]
    assert [event.parent_id for event in run.events if event.fields.get("name") == "info"] == [
        execution.event_id
    ]


def _archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/") + ".json", data)
    return path


def test_an_archive_that_unfolds_without_end_is_refused(tmp_path: Path) -> None:
    bomb = _archive(tmp_path / "b.eval", header=b'{"eval": {}}', samples__1=b"[" * (70 * 1024 * 1024))
    assert bomb.stat().st_size < 1_000_000
    with pytest.raises(FileRefused, match=r"^the archive unfolds to more than the 67108864 bytes"):
        read(bomb)


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match=r"^the archive is no log: it holds no 'header\.json'$"):
        read(_archive(tmp_path / "b.eval", other=b"{}"))
