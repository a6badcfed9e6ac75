"""Runs: what an agent saw, decided and got back in one go at a task, event by event.

client = init(service_name="claims")

with client.with_run("claim 17", {"channel": "mail"}):
    with client.model_call("openai", "gpt-x", "chat", request=payload) as call:
        call.finish(ask(payload))
    with client.tool_execution("read_policy", {"id": 4}, side_effect_class="read") as execution:
        execution.finish(read_policy(4))
"""

from capture_sdk.runs.client import RunClient, init
from capture_sdk.runs.handover import RUN_HEADER, RUN_VARIABLE
from capture_sdk.runs.records import Place, RunEvent, RunKey, SideEffect, Status
from capture_sdk.runs.run import Run, current_run
from capture_sdk.runs.steps import ModelCall, ToolExecution, ToolProposal
from capture_sdk.runs.streams import AsyncStream, Stream

__all__ = [
    "RUN_HEADER",
    "RUN_VARIABLE",
    "AsyncStream",
    "ModelCall",
    "Place",
    "Run",
    "RunClient",
    "RunEvent",
    "RunKey",
    "SideEffect",
    "Status",
    "Stream",
    "ToolExecution",
    "ToolProposal",
    "current_run",
    "init",
]
