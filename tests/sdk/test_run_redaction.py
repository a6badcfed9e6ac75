"""No field of a run leaves with a secret in it, whole or in pieces; and what cannot be searched does not leave."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from capture_sdk import CapturePolicy, Keys, Rule
from capture_sdk.redact import Redactor
from capture_sdk.runs import Run
from capture_sdk.runs.records import artifact_refs
from tests.data import needs
from tests.sdk.recorded import Recorded, recorded

KEY = "sk-ant-api03-" + "Zx9Qw7" * 8
PASSWORD = "correct-horse-battery-staple-9"


@pytest.fixture
def at() -> Iterator[Recorded]:
    with recorded() as made:
        yield made


def _opened(run: Run) -> None:
    with run:
        pass


FIELDS: dict[str, Callable[[Any, Any], object]] = {
    "run name": lambda run, text: _opened(run.with_run(text)),
    "run metadata": lambda run, text: _opened(run.with_run("r", {"note": text})),
    "metadata key": lambda run, text: _opened(run.with_run("r", {text: 1})),
    "event name": lambda run, text: run.record_event(text),
    "event data": lambda run, text: run.record_event("e", {"a": [text]}),
    "large data": lambda run, text: run.record_event("e", {"a": [text, "x" * 9_000]}),
    "checkpoint": lambda run, text: run.checkpoint(text, {"state": text}),
    "annotation": lambda run, text: run.annotate_context(
        text, text, text, provenance=text, visibility=text, metadata={text: text}
    ),
    "provider": lambda run, text: run.start_model_call(text, text, text),
    "request": lambda run, text: run.start_model_call(
        "p", "m", "o", request={"messages": [{"content": text}]}
    ),
    "raw request": lambda run, text: run.start_model_call("p", "m", "o", request=json.dumps({"m": text})),
    "request bytes": lambda run, text: run.start_model_call(
        "p", "m", "o", request=json.dumps({"m": text}).encode()
    ),
    "tool schema": lambda run, text: run.start_model_call(
        "p", "m", "o", request={"tools": [{"description": text, "parameters": {"default": text}}]}
    ),
    "params": lambda run, text: run.start_model_call("p", "m", "o", {"note": text}, {"header": text}),
    "output": lambda run, text: run.start_model_call("p", "m", "o").finish(
        text, usage={"u": text}, logprobs=[text]
    ),
    "error": lambda run, text: run.start_model_call("p", "m", "o").finish(error=ValueError(text)),
    "error map": lambda run, text: run.start_model_call("p", "m", "o").finish(
        error={"type": text, "message": text}
    ),
    "proposal": lambda run, text: run.record_tool_proposal(
        text, json.dumps({"a": text}), call_id=text, description=text, schema={"properties": {text: {}}}
    ),
    "denial": lambda run, text: run.record_tool_proposal("t").deny(text, by=text),
    "execution": lambda run, text: run.start_tool_execution(text, {"a": text}).finish({"b": text}),
    "stream": lambda run, text: list(
        run.start_model_call("p", "m", "o").stream([f"data: {json.dumps(text)}\n\n"])
    ),
    "stream objects": lambda run, text: list(run.start_model_call("p", "m", "o").stream([{"t": text}])),
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_secret_is_masked_in_every_field(at: Recorded, field: str) -> None:
    with at.client.with_run("run"):
        FIELDS[field](at.client, KEY)
    left = at.everything()
    assert KEY.encode() not in left
    assert b"[REDACTED:" in left
    assert sum(sum(each.redactions.values()) for each in at.events()) > 0
    assert {each.policy for each in at.events()} == {CapturePolicy().version}


def test_every_recorded_secret_is_masked_and_every_innocent_string_stays(at: Recorded) -> None:
    every = json.loads((needs("05-secrets") / "secret-strings.json").read_text())
    secrets = [each for each in every if each["should_mask"]]
    innocent = [each for each in every if not each["should_mask"] and each["strict"]]
    with at.client.with_run("run"):
        for each in secrets + innocent:
            at.client.record_event("e", {"seen": each["text"]})
    events = at.events("event")
    passed = [
        each["id"]
        for each, event in zip(secrets, events, strict=False)
        if each["secret"].replace("\\", "")
        in json.dumps(_whole(at, event), ensure_ascii=False).replace("\\", "")
    ]
    changed = [
        each["id"]
        for each, event in zip(innocent, events[len(secrets) :], strict=True)
        if _whole(at, event) != {"seen": each["text"]}
    ]
    assert (passed, changed) == ([], [])


def _whole(at: Recorded, event: Any) -> Any:
    data = event.fields["data"]
    refs = list(artifact_refs(data))
    return json.loads(at.artifact(refs[0])) if refs else data


def sse(pieces: list[str], shape: Callable[[str], Any]) -> list[bytes]:
    return [f"data: {json.dumps(shape(piece))}\n\n".encode() for piece in pieces]


SHAPES: dict[str, Callable[[str], Any]] = {
    "chat": lambda text: {"id": "c", "choices": [{"index": 0, "delta": {"content": text}}]},
    "chat tool": lambda text: {
        "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 1, "function": {"arguments": text}}]}}]
    },
    "responses": lambda text: {"type": "response.output_text.delta", "item_id": "m", "delta": text},
    "anthropic": lambda text: {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    },
    "gemini": lambda text: {"candidates": [{"content": {"parts": [{"text": text}]}}]},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_a_secret_in_pieces_leaves_no_usable_part(at: Recorded, shape: str, size: int) -> None:
    text = f"The key is {KEY} and that is it."
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    with at.client.with_run("run"):
        got = list(at.client.start_model_call("p", "m", "o").stream(sse(pieces, SHAPES[shape])))
        list(at.client.start_model_call("p", "m", "o").stream([SHAPES[shape](piece) for piece in pieces]))
    assert got == sse(pieces, SHAPES[shape])  # the agent's own
    for finished in at.events("model_call.finished"):
        lines = at.artifact(finished.fields["output"]).decode().splitlines()
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines if line]
        assert len(chunks) == len(pieces)
        left = "".join(_text(chunk) for chunk in chunks)
        assert left.startswith("The key is [REDACTED:")
        assert left.endswith("] and that is it.")


def _text(value: Any) -> str:
    """The text of a chunk: its longest path's last string."""
    if isinstance(value, str):
        return value
    entries = list(value.values()) if isinstance(value, dict) else value
    return _text([each for each in entries if isinstance(each, dict | list | str)][-1])


def test_a_password_in_the_pieces_of_a_tools_arguments_is_masked(at: Recorded) -> None:
    text = json.dumps({"user": "kim", "password": PASSWORD, "n": 3})
    pieces = [text[place : place + 4] for place in range(0, len(text), 4)]
    with at.client.with_run("run"):
        list(at.client.start_model_call("p", "m", "o").stream(sse(pieces, SHAPES["chat tool"])))
    lines = at.artifact(at.fields("model_call.finished")["output"]).decode().splitlines()
    left = "".join(_text(json.loads(line.removeprefix("data: "))) for line in lines if line)
    assert json.loads(left)["password"].startswith("[REDACTED:")
    assert (json.loads(left)["user"], json.loads(left)["n"]) == ("kim", 3)


def test_a_stream_without_a_secret_stays_byte_for_byte(at: Recorded) -> None:
    chunks = [
        b'event: x\r\ndata: { "delta" : "a b" }\r\n\r\n',
        b'data: {"delta": "c"}\n\n: ping\n\ndata: [DONE]\n\n',
    ]
    with at.client.with_run("run"):
        list(at.client.start_model_call("p", "m", "o").stream(chunks))
    assert at.artifact(at.fields("model_call.finished")["output"]) == b"".join(chunks)


def test_a_secret_learnt_in_a_later_field_is_masked_in_an_earlier_one(at: Recorded) -> None:
    with at.client.with_run("run"):
        at.client.record_tool_proposal("login", f"with {PASSWORD}", schema={"password": PASSWORD})
    assert PASSWORD.encode() not in at.everything()


def test_a_secret_learnt_in_one_event_is_masked_in_the_next(at: Recorded) -> None:
    with at.client.with_run("run"):
        at.client.record_event("login", {"password": PASSWORD})
        at.client.start_model_call("p", "m", "o", request=f"say {PASSWORD}").finish(f"it is {PASSWORD}")
    assert PASSWORD.encode() not in at.everything()


def test_rules_of_a_policy_name_fields_and_reach_into_raw_json() -> None:
    policy = CapturePolicy(
        rules=[
            Rule("request.messages", "drop"),
            Rule("state.hole", "mask"),
            Rule("data", "artifact_only"),
            Rule("output", "metadata_only"),
        ],
        keys=Keys(digest=b"0123456789abcdef"),
    )
    with recorded(policy) as at:
        with at.client.with_run("run"):
            at.client.start_model_call("p", "m", "o", request='{"messages": ["m"], "n": 1}').finish("said")
            at.client.checkpoint("c", {"hole": "As", "pot": 3})
            at.client.record_event("e", "put apart")
        assert at.artifact(at.fields("model_call.started")["request"]) == b'{"messages":null,"n":1}'
        state = at.fields("checkpoint")["state"]
        assert (state["hole"][:10], state["pot"]) == ("[REDACTED:", 3)
        assert at.artifact(at.fields("event")["data"]) == b"put apart"
        assert at.fields("model_call.finished")["output"]["$metadata"]["bytes"] == 4
        assert {each.policy for each in at.events()} == {policy.version}
        assert at.events("model_call.started")[0].redactions == {"drop": 1}


def test_redaction_that_fails_withholds_the_field_and_says_so(
    at: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Redactor, value: object, path: object) -> object:
        raise RecursionError

    monkeypatch.setattr(Redactor, "_decide", fail)
    monkeypatch.setattr(Redactor, "_pieces", fail)
    with at.client.with_run("run"):
        at.client.record_event("e", {"a": KEY})
        list(at.client.start_model_call("p", "m", "o").stream(sse([KEY[:9], KEY[9:]], SHAPES["chat"])))
    assert at.fields("event")["data"] == {"$withheld": "redaction failed: RecursionError"}
    left = at.everything()
    assert KEY.encode() not in left
    assert KEY[9:].encode() not in left
    assert at.events("event")[0].redactions == {"withheld": 1}
