"""The scripted model: it answers as an OpenAI-compatible one does, by what stands in the messages."""

import json
from collections.abc import Iterator
from typing import Any, Final

Message = dict[str, Any]

NAME: Final = "scripted-claims"
PROVIDER: Final = "scripted"


def complete(request: dict[str, Any]) -> dict[str, Any]:
    """The next step of a claim: read the policy, estimate the damage, pay; or nothing but a text."""
    messages: list[Message] = request["messages"]
    told = {each["name"]: json.loads(each["content"]) for each in messages if each["role"] == "tool"}
    if "read_policy" not in told:
        return _call(request, "read_policy", {"policy": _policy_of(messages)})
    if "estimate_damage" not in told:
        return _call(request, "estimate_damage", {"photos": 3, "kind": told["read_policy"]["covers"]})
    if "pay" not in told:
        return _call(request, "pay", {"amount": told["estimate_damage"]["estimate"], "currency": "EUR"})
    said = (
        "A person decides about it."
        if "denied" in told["pay"]
        else "It is settled, and the money is on its way."
    )
    return _answer(request, {"role": "assistant", "content": said})


def letter(request: dict[str, Any]) -> Iterator[str]:
    """A letter, word by word, as a stream brings it."""
    said = "Dear customer, we have looked at your claim. " + request["messages"][-2]["content"]
    yield from (f"{word} " for word in said.split())


def _policy_of(messages: list[Message]) -> str:
    return next(word for word in str(messages[1]["content"]).split() if word.startswith("P-"))


def _call(request: dict[str, Any], name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call_id = f"call_{len(request['messages'])}"
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return _answer(request, {"role": "assistant", "content": None, "tool_calls": calls})


def _answer(request: dict[str, Any], message: Message) -> dict[str, Any]:
    told, answered = len(json.dumps(request)) // 4, len(json.dumps(message)) // 4
    usage = {"prompt_tokens": told, "completion_tokens": answered, "total_tokens": told + answered}
    return {"model": NAME, "choices": [{"index": 0, "message": message}], "usage": usage}
