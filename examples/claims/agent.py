"""The agent: one claim is one run, from the claim as it came to the letter that leaves."""

import json
from dataclasses import dataclass
from typing import Any, Final

from capture_sdk.runs import ModelCall, Run, RunClient
from examples.claims import model
from examples.claims.tools import TOOLS, Tool

SYSTEM: Final = "You settle claims. Read the policy, estimate the damage, pay what is covered, and say so."
STEPS: Final = 8  # model calls before the agent gives up


@dataclass(frozen=True, slots=True)
class Claim:
    """What came in. ``limit`` is what the agent may pay without a person, in euros."""

    number: int
    policy: str
    text: str
    limit: int = 5_000


def settle(client: RunClient, claim: Claim) -> None:
    """Work on a claim until the model has nothing left to do, then write the letter."""
    with client.with_run(f"claim {claim.number}", {"policy": claim.policy}) as run:
        messages: list[model.Message] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"Claim {claim.number} on policy {claim.policy} : {claim.text}"},
        ]
        run.checkpoint("input.loaded", {"messages": messages, "limit": claim.limit}, is_whole=True)
        for _ in range(STEPS):
            message, call = _ask(client, messages)
            messages.append(message)
            if not message.get("tool_calls"):
                break
            for asked in message["tool_calls"]:
                _use(run, claim, messages, asked, call)
        run.checkpoint("before-final", {"messages": messages}, is_whole=True)
        _write(client, messages)


def _ask(client: RunClient, messages: list[model.Message]) -> tuple[model.Message, ModelCall]:
    request = {"model": model.NAME, "messages": messages, "tools": [tool.told() for tool in TOOLS.values()]}
    with client.model_call(
        model.PROVIDER, model.NAME, "chat", request=request, settings={"retries": 2}
    ) as call:
        _annotate(client, messages, call)
        answer = model.complete(request)
        message: model.Message = answer["choices"][0]["message"]
        call.finish(answer, usage=answer["usage"])
    return message, call


def _annotate(client: RunClient, messages: list[model.Message], call: ModelCall) -> None:
    """Say of what was retrieved where it came from; the request alone does not tell."""
    for place, message in enumerate(messages):
        if message.get("name") == "read_policy":
            path = f"messages[{place}].content"
            client.annotate_context(
                "retrieval", path, provenance="the policy store", visibility="model", call=call
            )


def _use(
    run: Run, claim: Claim, messages: list[model.Message], asked: dict[str, Any], call: ModelCall
) -> None:
    """Execute what the model asked for, or say why not; either way the model is told."""
    tool, written = TOOLS[asked["function"]["name"]], asked["function"]["arguments"]
    proposal = run.record_tool_proposal(
        tool.name,
        written,
        call_id=asked["id"],
        call=call,
        description=tool.description,
        schema=tool.schema,
    )
    arguments = json.loads(written)
    if tool.name == "pay" and arguments["amount"] > claim.limit:
        reason = f"{arguments['amount']} is above {claim.limit}: a person decides"
        proposal.deny(reason, by="payment gate")
        result = {"denied": reason}
    else:
        run.checkpoint("before-tool", {"messages": messages, "tool": asked}, is_whole=True)
        with run.tool_execution(
            tool.name, arguments, proposal=proposal, side_effect_class=tool.side_effect
        ) as execution:
            result = tool.run(arguments)
            execution.finish(result)
    messages.append(_told(tool, asked["id"], result))
    run.checkpoint("after-tool", {"messages": messages}, is_whole=True)


def _told(tool: Tool, call_id: str, result: dict[str, Any]) -> model.Message:
    return {"role": "tool", "tool_call_id": call_id, "name": tool.name, "content": json.dumps(result)}


def _write(client: RunClient, messages: list[model.Message]) -> None:
    """The letter comes as a stream, and is sent when it is whole."""
    request = {"model": model.NAME, "messages": [*messages, {"role": "user", "content": "Write the letter."}]}
    with client.model_call(
        model.PROVIDER, model.NAME, "chat", request=request, settings={"stream": True}
    ) as call:
        _annotate(client, messages, call)
        text = "".join(call.stream(model.letter(request)))
        call.finish(usage={"completion_tokens": len(text) // 4})
    client.record_event("letter.sent", {"text": text})
