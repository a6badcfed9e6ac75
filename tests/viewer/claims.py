"""A run of a claims agent with some of everything that a run's page tells apart."""

import json

from capture_sdk.runs.records import Artifact, EventKind, artifact_ref
from tests.run_writing import Writing
from tests.runs import artifact

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
