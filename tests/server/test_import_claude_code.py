"""Claude Code's sessions come back whole: counted against the file by other code."""

import json
from pathlib import Path
from typing import Any

import pytest

from capture.importing import FileRefused
from tests.server.imported import bodies, counts, files, pairs, read, texts, told

_REJECTION = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


def _raw(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    return [each["message"] for each in json.loads(path.read_text())["messages"]]


def _blocks(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    contents = [record["message"]["content"] for record in records if isinstance(record.get("message"), dict)]
    return [block for each in contents if isinstance(each, list) for block in each if block["type"] == kind]


def test_every_message_proposal_and_result_of_each_file_is_found() -> None:
    for path in files("claude-code"):
        records = _raw(path)
        (run,) = read(path).runs
        found = counts(run)
        answers = [record for record in records if record["type"] == "assistant"]
        calls = {record["message"].get("id") or record["uuid"] for record in answers}
        uses, results = _blocks(records, "tool_use"), _blocks(records, "tool_result")
        assert found["model_call.started"] == found["model_call.finished"] == len(calls), path
        assert found["tool.proposed"] == len(uses)
        assert found["tool.started"] == found["tool.finished"] == len(results)
        assert found["tool.denied"] == 0
        places = {use["id"]: place for place, use in enumerate(uses)}
        assert pairs(run) == [places.get(each["tool_use_id"]) for each in results]
        given = [(each["callId"], each["name"], each["arguments"]) for each in bodies(run, "tool.proposed")]
        assert given == [(use["id"], use["name"], use["input"]) for use in uses]
        assert [each["output"] for each in bodies(run, "tool.finished")] == [
            each["content"] for each in results
        ]


def test_every_text_of_each_file_is_found() -> None:
    for path in files("claude-code"):
        whole = json.loads(path.read_text()) if path.suffix == ".json" else _raw(path)
        assert set(texts(whole)) - {"tool_result"} <= told(*read(path).runs), path


def test_messages_and_marks_are_events_of_their_own() -> None:
    (path,) = (each for each in files("claude-code") if "compaction" in each.name)
    (run,) = read(path).runs
    names = [each["name"] for each in bodies(run, "event")]
    assert names == ["message", "system.compact_boundary", "message", "message"]
    assert "run.finished" not in counts(run)


def test_a_sub_agent_is_a_run_within_its_session() -> None:
    (path,) = (each for each in files("claude-code") if "atest01" in each.name)
    (run,) = read(path).runs
    (began,) = bodies(run, "run.started")
    assert began["outer"] == {"agentId": "agent", "runId": "test-session-004"}
    assert run.key.run_id == "test-session-004/sidechain-001"


def _session(*records: dict[str, Any]) -> str:
    return "".join(json.dumps({"sessionId": "s", **record}) + "\n" for record in records)


def _use(name: str, **record: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "ls"}}
    return {"type": "assistant", "uuid": f"u{name}", "message": {"id": "m", "content": [block]}, **record}


def _result(name: str, text: str, **block: Any) -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": name, "content": text, **block}]
    return {"type": "user", "uuid": f"r{name}", "message": {"role": "user", "content": content}}


def test_a_use_that_the_user_rejected_is_denied_and_was_not_executed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(_session(_use("a"), _result("a", _REJECTION, is_error=True), _use("b")))
    (run,) = read(path).runs
    (denied,) = bodies(run, "tool.denied")
    assert (denied["reason"], denied["by"]) == (_REJECTION, "user")
    assert denied["proposal"] == bodies(run, "tool.proposed")[0]["id"]
    assert "tool.started" not in counts(run)


def test_the_pieces_of_one_answer_are_one_call(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(_session(_use("a"), _result("a", "1"), _use("b")))
    (run,) = read(path).runs
    (answered,) = bodies(run, "model_call.finished")
    assert [block["id"] for block in answered["output"]["content"]] == ["a", "b"]
    assert counts(run)["tool.proposed"] == 2


def test_sidechains_within_a_session_s_file_are_runs_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    aside = {"isSidechain": True, "message": {"role": "user", "content": "look"}, "type": "user"}
    path.write_text(
        _session(
            _use("a"), {**aside, "uuid": "x"}, {**aside, "uuid": "y", "parentUuid": "x"}, _result("a", "1")
        )
    )
    main, sub = read(path).runs
    assert (main.key.run_id, sub.key.run_id) == ("s", "s/x")
    assert counts(sub)["event"] == 2


def test_a_torn_last_line_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(_session(_use("a")) + "\n\n" + _session(_result("a", "1"))[:-20])
    reading = read(path)
    assert reading.notes == ("line 4 is cut short and was left out",)
    assert counts(reading.runs[0])["tool.proposed"] == 1


def test_a_broken_line_in_the_middle_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(_session(_use("a")) + '{"broken\n' + _session(_result("a", "1")))
    with pytest.raises(FileRefused, match=r"^line 2 is cut short: "):
        read(path)
