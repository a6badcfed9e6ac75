"""A run of a claims agent with some of everything that a run's page tells apart; and one with a text in all of it."""

import json
from urllib.parse import urlencode

from capture_sdk.freeze import pack
from capture_sdk.runs.records import Artifact, EventKind, RunEvent, RunKey, artifact_ref
from tests.run_writing import Writing
from tests.runs import AT, artifact, buffered

QUERY = "agentId=claims-agent&runId=run-1"
REQUEST = json.dumps(
    {
        "model": "m",
        "messages": [
            {"role": "system", "content": "You settle claims."},
            {"role": "user", "content": "The claim of customer 7: water in the cellar."},
        ],
        "tools": [{"type": "function", "function": {"name": "pay", "description": "Pays", "parameters": {}}}],
        "temperature": 0,
    }
)


def a_claim(request: str = REQUEST, *, status: str | None = "ok") -> tuple[Writing, list[Artifact]]:
    """The run's writer with all that it emitted, and its artifacts."""
    asked, answer = artifact(request, "application/json"), artifact("Pay it: the policy covers water.")
    writing = Writing()
    writing.start(project="claims", service="settling")
    writing.checkpoint("input.loaded")
    call = writing.call(request=artifact_ref(asked))
    writing.emit(
        EventKind.CONTEXT_ANNOTATED,
        {
            "kind": "retrieval",
            "path": "messages[1]",
            "provenance": "the policy",
            "visibility": "model",
            "call": call,
        },
    )
    writing.called(call, output=artifact_ref(answer), usage={"prompt_tokens": 812, "completion_tokens": 40})
    paid, denied = (
        writing.propose("pay", call=call, arguments={"euro": 120}),
        writing.propose("close", call=call),
    )
    writing.propose("forget", call=call)
    writing.deny(denied)
    writing.checkpoint("before-tool")
    execution = writing.execute("pay", proposal=paid, sideEffect="irreversible", arguments={"euro": 120})
    inner = writing.emit(
        EventKind.MODEL_CALL_STARTED,
        {"provider": "openai", "model": "small", "operation": "chat"},
        parent=execution,
    )
    told = {
        "call": inner,
        "status": "incomplete",
        "stream": {"chunks": 3, "times": [1, 2, 3], "isComplete": False},
    }
    writing.emit(EventKind.MODEL_CALL_FINISHED, told, parent=execution)
    writing.executed(execution, output={"paid": True})
    alone = writing.execute("look_up")
    error = {"type": "Timeout", "message": "no answer in 3 s"}
    writing.emit(EventKind.TOOL_FINISHED, {"execution": alone, "status": "error", "error": error})
    writing.emit(EventKind.EVENT, {"name": "claim settled", "data": {"euro": 120}})
    writing.emit("claim.weighed", {"weight": 3})
    if status is not None:
        writing.finish(status)
    return writing, [asked, answer]


def record_everywhere(text: str, word: str) -> list[str]:
    """A run with the text in every field of every kind, and ``word`` in every id; the addresses of its pages.

    The last event is of no kind that is known. A body has some sixty such texts, and a limit.
    """
    key, text = RunKey(word, word), text[:50_000]
    held = artifact(
        json.dumps({"messages": [{"role": text, "content": text}], text: text}), "application/json"
    )
    ref = artifact_ref(held) | {"mediaType": text}
    begun = {
        "request": ref,
        "params": {text: text},
        "settings": {text: [text]},
        "state": {text: text},
        "stream": {},
    }
    fields: dict[str, object] = {
        **dict.fromkeys(_FIELDS, text),
        **begun,
        **dict.fromkeys(("call", "execution", "proposal"), word),
        "error": {"type": text, "message": text, "traceback": text},
        "hand": {"tableId": word, "handNumber": 42},
        text: text,
    }
    kinds = [*EventKind, word]
    events = [_event(key, place, kind, fields, f"{word[:140]}{place}") for place, kind in enumerate(kinds)]
    ends = {EventKind.MODEL_CALL_FINISHED: "call", EventKind.TOOL_FINISHED: "execution"}
    starts = {
        EventKind.MODEL_CALL_FINISHED: EventKind.MODEL_CALL_STARTED,
        EventKind.TOOL_FINISHED: "tool.started",
    }
    for kind, name in ends.items():
        start = kinds.index(starts[kind])
        end = fields | {name: f"{word[:140]}{start}", "stream": {"chunks": text, "isComplete": text}}
        events.append(_event(key, len(events), kind, end, f"{word[:140]}{len(events)}"))
    buffered(events, [held])
    call = f"{word[:140]}{kinds.index(EventKind.MODEL_CALL_STARTED)}"
    run = urlencode({"agentId": word, "runId": word})
    return [
        f"runs?{urlencode({'agent': word})}",
        f"runs/run?{run}",
        f"runs/branches?{run}",
        f"runs/context?{run}&{urlencode({'call': call})}",
        f"runs/compare?{run}&{urlencode({'withRunId': word})}",
        f"runs/event?{run}&{urlencode({'eventId': call})}",
        f"runs/artifact?{run}&{urlencode({'eventId': call, 'sha256': held.sha256})}&layout=json",
    ]


_FIELDS = """name project service data place isWhole provider model operation status output usage logprobs arguments
callId description schema reason by sideEffect kind path value provenance visibility metadata isPart""".split()


def _event(key: RunKey, place: int, kind: str, fields: dict[str, object], event_id: str) -> RunEvent:
    return RunEvent(key, event_id, kind, AT, pack(fields), key.run_id, place, policy=key.run_id)
