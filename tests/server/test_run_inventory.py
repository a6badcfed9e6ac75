"""What each model call was given is listed text by text, each once, and nothing of it is guessed."""

import hashlib
import json

import pytest

from capture.limits import INVENTORY_PREVIEW
from capture.runs.inventory import CallContext, Inventory, Item, inventory
from capture.runs.inventory.opening import RequestState
from capture.runs.pairing import pair
from capture_sdk.runs.records import Artifact, EventKind, artifact_ref
from tests.run_writing import Writing

CHAT = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Which?"}, {"type": "image_url", "image_url": {}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "add"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "7"},
    ],
    "tools": [{"type": "function", "function": {"name": "add", "parameters": {}}}],
    "temperature": 0.5,
}
ANTHROPIC = {
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "add", "input": {}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"text": "7"}]}],
        },
    ],
    "tools": [{"name": "add", "input_schema": {}}],
}
RESPONSES = {
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": "Which?"},
        {"type": "reasoning", "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "7"},
    ],
    "previous_response_id": "r",
}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "Which?"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}],
        },
        {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "add"}]}],
    "generationConfig": {"temperature": 1, "responseSchema": {"type": "STRING"}},
}
BEDROCK = {
    "system": [{"text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [{"json": {"n": 7}}]}}]}
    ],
    "toolConfig": {"tools": [{"toolSpec": {"name": "add"}}]},
    "inferenceConfig": {"maxTokens": 9},
}


def stored(data: bytes, media_type: str = "application/json") -> Artifact:
    return Artifact(hashlib.sha256(data).hexdigest(), data, media_type)


def listed(run: Writing, *artifacts: Artifact) -> Inventory:
    there = {each.sha256: each.data for each in artifacts}
    return inventory(pair(run.events), there.get)


def context_of(request: object) -> CallContext:
    run = Writing()
    run.call(request=request)
    (found,) = listed(run).calls
    return found


def items_of(request: object) -> dict[str, Item]:
    found = context_of(request).items
    by_path = {item.path: item for item in found}
    assert len(by_path) == len(found)
    return by_path


def kinds_of(request: object) -> dict[str, tuple[str, str]]:
    return {path: (item.kind, item.visibility) for path, item in items_of(request).items()}


def test_a_chat_completion() -> None:
    assert kinds_of(CHAT) == {
        "model": ("settings", "hidden"),
        "messages[0].content": ("system", "model"),
        "messages[1].content[0].text": ("message", "model"),
        "messages[1].content[1]": ("image", "model"),
        "messages[2].tool_calls[0]": ("tool_call", "model"),
        "messages[3].content": ("tool_result", "model"),
        "tools[add]": ("tool_definition", "model"),
        "temperature": ("settings", "hidden"),
    }


def test_anthropic_messages() -> None:
    assert context_of(ANTHROPIC).format == "anthropic.messages"
    assert kinds_of(ANTHROPIC) == {
        "system[0].text": ("system", "model"),
        "system[0].cache_control": ("settings", "hidden"),
        "messages[0].content[0]": ("tool_call", "model"),
        "messages[1].content[0].content[0].text": ("tool_result", "model"),
        "tools[add]": ("tool_definition", "model"),
    }


def test_openai_responses() -> None:
    assert kinds_of(RESPONSES) == {
        "instructions": ("system", "model"),
        "input[0].content": ("message", "model"),
        "input[1]": ("reasoning", "model"),
        "input[2]": ("tool_call", "model"),
        "input[3].output": ("tool_result", "model"),
        "previous_response_id": ("message", "model"),
    }
    assert items_of(RESPONSES)["previous_response_id"].note == "what it stands for is not in the request"


def test_gemini() -> None:
    assert kinds_of(GEMINI) == {
        "systemInstruction.parts[0].text": ("system", "model"),
        "contents[0].parts[0].text": ("message", "model"),
        "contents[0].parts[1]": ("image", "model"),
        "contents[1].parts[0]": ("tool_call", "model"),
        "tools[0].functionDeclarations[add]": ("tool_definition", "model"),
        "generationConfig.temperature": ("settings", "hidden"),
        "generationConfig.responseSchema": ("settings", "unknown"),
    }


def test_bedrock_converse() -> None:
    assert kinds_of(BEDROCK) == {
        "system[0].text": ("system", "model"),
        "messages[0].content[0].toolResult.content[0]": ("tool_result", "model"),
        "toolConfig.tools[add]": ("tool_definition", "model"),
        "inferenceConfig": ("settings", "hidden"),
    }


@pytest.mark.parametrize(
    ("request_body", "paths"),
    [
        ("Which?", ["request"]),
        ([{"role": "user", "content": "Which?"}], ["[0].content"]),
        ({"prompt": ["a", "b"], "model": "m"}, ["prompt[0]", "prompt[1]", "model"]),
        ({"prompt": [[1, 2]]}, ["prompt"]),
        ({"input": {"prompt": "Which?"}, "stream": True}, ["input.prompt", "stream"]),
        ({"contents": "Which?", "config": {"tools": [{"google_search": {}}]}}, None),
        ({"odd key": 1, "ünder": 2, "": 3}, ['["odd key"]', '["ünder"]', '[""]']),
        ([1, 2], ["request"]),
        ({}, ["request"]),
        ({"messages": []}, ["request"]),
        (7, ["request"]),
        (json.dumps(CHAT), list(items_of(CHAT))),
    ],
)
def test_other_requests(request_body: object, paths: list[str] | None) -> None:
    assert list(items_of(request_body)) == (paths or ["contents", "config.tools[0].google_search"])


def test_an_item_has_the_size_and_hash_of_its_exact_text() -> None:
    item = items_of({"messages": [{"role": "user", "content": "Grüße"}]})["messages[0].content"]
    data = "Grüße".encode()
    assert (item.bytes, item.tokens_estimated, item.role) == (7, 2, "user")
    assert (item.sha256, item.preview) == (hashlib.sha256(data).hexdigest(), "Grüße")


def test_an_image_has_no_tokens_to_estimate() -> None:
    image = items_of(CHAT)["messages[1].content[1]"]
    assert image.bytes
    assert image.tokens_estimated is None


def test_a_long_text_is_shown_by_its_beginning_and_its_true_size() -> None:
    item = items_of("x" * 100_000)["request"]
    assert (item.bytes, len(item.preview)) == (100_000, INVENTORY_PREVIEW)


def test_a_lone_surrogate_is_a_text() -> None:
    assert items_of({"messages": [{"role": "user", "content": "\ud800"}]})["messages[0].content"].bytes == 3


def test_tools_of_one_name_go_by_their_numbers() -> None:
    tools = [{"name": "add"}, {"name": "add"}, {"name": "a]b"}, {"name": "7"}, {}, 3]
    assert [path for path in items_of({"messages": [], "tools": tools}) if path.startswith("tools")] == [
        f"tools[{number}]" for number in range(6)
    ]


def test_an_empty_content_is_an_item_and_a_null_one_is_the_message_itself() -> None:
    found = items_of({"messages": [{"role": "user", "content": ""}, {"role": "user", "content": None}]})
    assert [(path, item.bytes) for path, item in found.items()] == [
        ("messages[0].content", 0),
        ("messages[1]", 30),
    ]


def test_what_stands_beside_a_content_is_not_lost() -> None:
    message = {"role": "assistant", "name": "ann", "content": "Yes.", "refusal": "no", "tool_call_id": "c"}
    assert kinds_of({"messages": [message]}) == {
        "messages[0].content": ("message", "model"),
        "messages[0].name": ("message", "unknown"),
        "messages[0].refusal": ("message", "unknown"),
    }


def test_the_parameters_stand_for_a_request_that_they_are() -> None:
    run = Writing()
    started = {"provider": "p", "params": CHAT, "settings": {"timeout": 5}}
    run.emit(EventKind.MODEL_CALL_STARTED, started)
    run.emit(EventKind.MODEL_CALL_STARTED, {"params": {"temperature": 1}})
    first, second = listed(run).calls
    assert [item.path for item in first.items] == [*items_of(CHAT), "(settings)"]
    assert second.state is RequestState.NOT_CAPTURED


def test_parameters_beside_a_request_are_hidden_settings() -> None:
    run = Writing()
    run.call(request="Which?", params={"temperature": 1}, settings={"timeout": 5})
    assert [(item.path, item.visibility) for item in listed(run).items] == [
        ("request", "model"),
        ("(params)", "hidden"),
        ("(settings)", "hidden"),
    ]


def test_an_artifact_is_read_and_named() -> None:
    run, artifact = Writing(), stored(json.dumps(CHAT).encode())
    call = run.call(request=artifact_ref(artifact))
    (context,) = listed(run, artifact).calls
    assert [item.path for item in context.items] == list(items_of(CHAT))
    assert {(item.call, item.artifact) for item in context.items} == {(call, artifact.sha256)}


def test_an_absent_artifact_is_not_available_and_never_empty() -> None:
    run = Writing()
    run.call(request=artifact_ref(stored(b"{}")))
    run.call(request=None)
    run.emit(EventKind.MODEL_CALL_STARTED, {"provider": "p"})
    assert [(call.state, call.items) for call in listed(run).calls] == [
        (RequestState.NOT_AVAILABLE, ()),
        (RequestState.NOTHING, ()),
        (RequestState.NOT_CAPTURED, ()),
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"messages": [', "unparsable: no JSON from character 14 on"),
        (b'{"messages": [], "messages": [{}]}', "unparsable: a key stands twice"),
        (b"\xff\xfe", "no UTF-8 text"),
        (b"[" * 200_000, "unparsable: nested too deeply"),
    ],
)
def test_what_does_not_parse_is_one_item_of_its_very_bytes(data: bytes, reason: str) -> None:
    run, artifact = Writing(), stored(data)
    run.call(request=artifact_ref(artifact))
    (context,) = listed(run, artifact).calls
    (item,) = context.items
    assert (context.state, item.note, item.kind) == (RequestState.UNREAD, reason, "unread")
    assert (item.bytes, item.sha256) == (len(data), artifact.sha256)


def test_an_entry_that_is_an_artifact_is_read_in_its_place() -> None:
    messages, absent = stored(json.dumps(CHAT["messages"]).encode()), stored(b"[]")
    run = Writing()
    run.call(request={"messages": artifact_ref(messages), "tools": artifact_ref(absent)}, settings=None)
    found = {item.path: item for item in listed(run, messages).items}
    assert "messages[1].content[0].text" in found
    assert (found["tools"].bytes, found["tools"].sha256) == (2, absent.sha256)


def test_more_than_is_taken_apart_is_said_to_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.runs.inventory.INVENTORY_ITEMS", 3)
    run = Writing()
    run.call(request=CHAT)
    run.call(request=CHAT)
    found = listed(run)
    assert [(call.state, len(call.items), call.is_cut) for call in found.calls] == [
        (RequestState.LISTED, 3, True),
        (RequestState.LEFT_OUT, 0, False),
    ]
    assert found.is_cut


def test_requests_beyond_the_bytes_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.runs.inventory.INVENTORY_BYTES", 10)
    run, artifact = Writing(), stored(b"x" * 11, "text/plain")
    run.call(request=artifact_ref(artifact))
    run.call(request={**artifact_ref(artifact), "bytes": 1})
    assert [call.state for call in listed(run, artifact).calls] == [RequestState.LEFT_OUT] * 2


def annotate(run: Writing, path: str, **fields: object) -> str:
    return run.emit(EventKind.CONTEXT_ANNOTATED, {"path": path, **fields})


def test_an_annotation_goes_before_the_format() -> None:
    run = Writing()
    call = run.call(request=CHAT)
    said = annotate(
        run,
        "messages[0].content",
        call=call,
        kind="memory",
        visibility="hidden",
        provenance={"store": "notes"},
    )
    item = next(item for item in listed(run).items if item.path == "messages[0].content")
    assert (item.kind, item.visibility, item.provenance) == ("memory", "hidden", '{"store":"notes"}')
    assert (item.annotations, item.note) == ((said,), None)


def test_an_annotation_of_a_message_means_what_it_holds() -> None:
    run = Writing()
    call = run.call(request=ANTHROPIC)
    annotate(run, "messages[1]", call=call, kind="retrieval")
    annotate(run, "$.system[0]", call=call, provenance="the handbook")
    found = {item.path: item for item in listed(run).items}
    assert found["messages[1].content[0].content[0].text"].kind == "retrieval"
    assert found["system[0].text"].provenance == "the handbook"
    assert found["system[0].cache_control"].provenance is None


def test_a_tool_can_be_annotated_by_its_number() -> None:
    run = Writing()
    call = run.call(request=CHAT)
    annotate(run, "tools[0]", call=call, kind="tool_definition", provenance="registry")
    assert [item.path for item in listed(run).items if item.provenance] == ["tools[add]"]


def test_an_annotation_made_within_a_call_is_of_that_call() -> None:
    run = Writing()
    run.call(request="First?")
    second = run.call(request="Second?")
    run.emit(EventKind.CONTEXT_ANNOTATED, {"path": "request", "kind": "retrieval"}, parent=second)
    assert [item.kind for item in listed(run).items if item.path == "request"] == ["prompt", "retrieval"]


@pytest.mark.parametrize("named", ["this", "nobody", None])
def test_an_annotation_that_meets_nothing_stands_by_itself(named: str | None) -> None:
    run = Writing()
    call = run.call(request=CHAT)
    said = annotate(run, "notes[7]", kind="memory", value="Seen.", call=call if named == "this" else named)
    (item,) = listed(run).alone
    assert (item.kind, item.bytes, item.visibility, item.annotations) == ("memory", 5, "unknown", (said,))
    assert item.note == "annotated, and not found in a request at this path"


def test_an_annotation_without_a_value_has_no_size() -> None:
    run = Writing()
    annotate(run, "notes")
    (item,) = listed(run).alone
    assert (item.bytes, item.sha256, item.tokens_estimated) == (None, None, None)


def test_an_annotated_value_that_is_another_than_the_requests_is_said() -> None:
    run = Writing()
    call = run.call(request="Which?")
    annotate(run, "request", call=call, value="Which one?")
    note = next(item.note for item in listed(run).items if item.path == "request")
    assert note == "the annotation's value is another than the request's"


def test_one_call_can_be_asked_for() -> None:
    run = Writing()
    run.call(request="First?")
    second = run.call(request="Second?")
    found = inventory(pair(run.events), lambda _: None, call=second)
    assert [call.call for call in found.calls] == [second]
