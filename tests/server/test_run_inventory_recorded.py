"""The requests of recorded conversations with real models: each text of theirs is in exactly one item."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from capture.runs.inventory import CallContext, inventory
from capture.runs.pairing import pair
from tests.data import needs
from tests.run_writing import Writing

# What an item carries besides its text, and is no item itself.
STRUCTURE = {"type", "role", "id", "tool_call_id", "tool_use_id", "call_id", "toolUseId", "index", "thought"}


# The keys under which what a model reads stands in the recorded formats.
PROMPTS = {"text", "content", "prompt", "instructions", "system"}
# What has such keys within a schema, a trace of somebody else's, or the model's own reasoning, which is one item.
NO_PROMPTS = {"parameters", "data", "summary"}


def context_of(request: object) -> CallContext:
    run = Writing()
    run.call(request=request)
    (found,) = inventory(pair(run.events), lambda _: None).calls
    return found


def read(body: str | dict[str, Any]) -> Any:
    return json.loads(body) if isinstance(body, str) and body.startswith("{") else body


def requests() -> Iterator[tuple[str, str | dict[str, Any]]]:
    for path in sorted((needs("03-agent-runs") / "cassettes").glob("*.yaml")):
        recorded = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        for each in recorded.get("interactions", []):
            request = each.get("request") or {}
            body = request.get("body", request.get("parsed_body"))
            if isinstance(body, str | dict) and body:
                yield path.name, body


def leaves(value: object, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text of a JSON value with the way to it, told by code of its own."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield from leaves(held, (*steps, key))
    elif isinstance(value, list):
        for number, held in enumerate(value):
            yield from leaves(held, (*steps, number))
    elif isinstance(value, str) and not (steps and steps[-1] in STRUCTURE):
        yield steps, value


def written(steps: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")


def positions(context: CallContext, body: Any) -> list[str]:
    """The items' paths by position: a tool's name gives way to its number."""
    found = []
    for item in context.items:
        path = item.path
        if item.kind == "tool_definition" and item.name and path.endswith(f"[{item.name}]"):
            held = path.removesuffix(f"[{item.name}]")
            path = next(
                f"{held}[{n}]" for n, tool in enumerate(at(body, held)) if item.name in json.dumps(tool)
            )
        found.append(path)
    return found


def at(body: Any, path: str) -> Any:
    for step in path.replace("[", ".").replace("]", "").split("."):
        body = body[int(step)] if step.isdigit() else body[step]
    return body


def covers(path: str, leaf: str) -> bool:
    return leaf == path or leaf.startswith((f"{path}.", f"{path}["))


def test_every_text_of_every_recorded_request_is_in_exactly_one_item() -> None:
    seen = 0
    for name, body in requests():
        context, held = context_of(body), read(body)
        if not isinstance(held, dict):
            assert [item.path for item in context.items] == ["request"]
            continue
        paths = positions(context, held)
        for steps, _ in leaves(held):
            assert sum(covers(path, written(steps)) for path in paths) == 1, (name, written(steps), paths)
            seen += 1
    assert seen > 300


def test_the_recorded_prompts_are_seen_by_the_model() -> None:
    """The texts that stand where prompts stand, in any format, are items of that very text that the model saw."""
    seen = 0
    for name, body in requests():
        texts = {item.sha256 for item in context_of(body).items if item.visibility == "model"}
        for steps, text in leaves(read(body)):
            if len(steps) > 1 and steps[-1] in PROMPTS and not NO_PROMPTS & set(steps):
                assert hashlib.sha256(text.encode()).hexdigest() in texts, (name, steps)
                seen += 1
    assert seen > 50
