"""Message lists in OpenAI's style come back whole: counted against the file by other code."""

import json
from pathlib import Path
from typing import Any

import pytest

from capture.importing import FileRefused
from capture.importing.building import run_key
from capture_sdk.runs.records import artifact_refs
from tests.server.imported import bodies, counts, files, pairs, read, texts, told


def _raw(path: Path) -> Any:
    return json.loads(path.read_text())


def _expected_pairs(messages: list[dict[str, Any]]) -> list[int]:
    """The place of the proposal that each result answers: the file answers each before it is asked again."""
    proposed, found = [], []
    for message in messages:
        proposed += [call["id"] for call in message.get("tool_calls") or ()]
        if message["role"] == "tool":
            found.append(max(i for i, named in enumerate(proposed) if named == message["tool_call_id"]))
    return found


def test_every_message_proposal_and_result_of_each_file_is_found() -> None:
    for path in files("tau-bench"):
        raw = _raw(path)
        (run,) = read(path).runs
        roles = [message["role"] for message in raw["traj"]]
        calls = [call for message in raw["traj"] for call in message.get("tool_calls") or ()]
        found = counts(run)
        assert found["model_call.started"] == found["model_call.finished"] == roles.count("assistant")
        assert found["tool.started"] == found["tool.finished"] == roles.count("tool")
        assert found["tool.proposed"] == len(calls)
        messages = [each["data"] for each in bodies(run, "event") if each["name"] == "message"]
        assert messages == [each for each in raw["traj"] if each["role"] in ("system", "user")]
        assert [each["output"] for each in bodies(run, "model_call.finished")] == [
            each for each in raw["traj"] if each["role"] == "assistant"
        ]
        assert pairs(run) == _expected_pairs(raw["traj"])


def test_arguments_and_results_are_the_file_s_own_texts() -> None:
    for path in files("tau-bench"):
        raw = _raw(path)
        reading = read(path)
        (run,) = reading.runs
        calls = [call for message in raw["traj"] for call in message.get("tool_calls") or ()]
        given = [(each["callId"], each["name"], each["arguments"]) for each in bodies(run, "tool.proposed")]
        assert given == [
            (call["id"], *(call["function"][k] for k in ("name", "arguments"))) for call in calls
        ]
        results = [message["content"] for message in raw["traj"] if message["role"] == "tool"]
        assert [each["output"] for each in bodies(run, "tool.finished")] == results
        assert set(texts(raw)) - {"tool"} <= told(run)


def _write(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_what_never_pairs_stays_by_itself(tmp_path: Path) -> None:
    calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{"}} for name in "ab"]
    messages = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": "1"},
        {"role": "tool", "tool_call_id": "z", "content": "2"},
    ]
    (run,) = read(_write(tmp_path / "m.json", {"messages": messages})).runs
    assert pairs(run) == [1, None]
    assert [each["arguments"] for each in bodies(run, "tool.proposed")] == ["{", "{"]


def test_a_list_without_an_end_is_a_run_that_did_not_finish(tmp_path: Path) -> None:
    (run,) = read(_write(tmp_path / "m.json", {"messages": [{"role": "user", "content": "hi"}]})).runs
    assert [event.kind for event in run.events] == ["run.started", "event"]


def test_an_episode_that_failed_ends_as_an_error(tmp_path: Path) -> None:
    (run,) = read(_write(tmp_path / "m.json", {"task_id": 1, "traj": [], "info": {"error": "boom"}})).runs
    (ended,) = bodies(run, "run.finished")
    assert (ended["status"], ended["error"]["message"]) == ("error", "boom")


def test_one_file_may_hold_several_conversations(tmp_path: Path) -> None:
    one, two = ({"messages": [{"role": "user", "content": text}]} for text in "ab")
    assert len(read(_write(tmp_path / "list.json", [one, two])).runs) == 2
    assert len(read(_write(tmp_path / "lines.jsonl", f"{json.dumps(one)}\n{json.dumps(two)}\n")).runs) == 2


def test_the_same_conversation_twice_is_two_runs(tmp_path: Path) -> None:
    one = {"messages": [{"role": "user", "content": "hi"}], "format": None, "isTimed": "so"}
    first, second = (run.key.run_id for run in read(_write(tmp_path / "list.json", [one, one])).runs)
    assert second == f"{first}/#2"


def test_other_ids_are_other_runs() -> None:
    assert run_key("a", "s/x") != run_key("a", "s", "x")
    assert run_key("a", "s%2Fx") != run_key("a", "s/x")
    assert len(run_key("a", "s" * 300).run_id) == len(run_key("a", "\ud800").run_id) == 32


def test_the_oldest_form_pairs_by_the_function_s_name(tmp_path: Path) -> None:
    messages = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    (run,) = read(_write(tmp_path / "m.json", {"messages": messages})).runs
    assert pairs(run) == [0]


def test_a_file_cannot_name_an_artifact_of_others(tmp_path: Path) -> None:
    theirs = {"$artifact": "a" * 64, "bytes": 1, "mediaType": "text/plain"}
    (run,) = read(_write(tmp_path / "m.json", {"messages": [{"role": "user", "content": theirs}]})).runs
    named = {ref["$artifact"] for event in run.events for ref in artifact_refs(event.fields)}
    assert named == {artifact.sha256 for artifact in run.artifacts}
    assert json.loads(run.artifacts[0].data)["content"] == theirs


def test_a_message_that_is_none_is_refused_with_its_place(tmp_path: Path) -> None:
    path = _write(tmp_path / "m.json", {"messages": [{"role": "user", "content": "a"}, 7]})
    with pytest.raises(FileRefused, match=r"^messages\[1\] is no object$"):
        read(path)
