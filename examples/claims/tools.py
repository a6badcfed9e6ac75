"""What the agent can do, with what each does to the world."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from capture_sdk.runs import SideEffect

Json = dict[str, Any]


class StoreDown(Exception):
    """The policy store does not answer."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the model is told of it, and the function behind it."""

    name: str
    description: str
    properties: Json
    side_effect: SideEffect
    run: Callable[[Json], Json]

    @property
    def schema(self) -> Json:
        """Its parameters as JSON Schema."""
        return {"type": "object", "properties": self.properties, "required": list(self.properties)}

    def told(self) -> Json:
        """As it stands in a request."""
        function = {"name": self.name, "description": self.description, "parameters": self.schema}
        return {"type": "function", "function": function}


def _read_policy(arguments: Json) -> Json:
    if arguments["policy"] == "P-404":
        raise StoreDown("no answer within 2 s")
    return {"policy": arguments["policy"], "covers": "storm", "limit": 5_000}


def _estimate(arguments: Json) -> Json:
    return {"estimate": 1_200 * arguments["photos"]}


def _pay(arguments: Json) -> Json:
    return {"paid": arguments["amount"], "reference": "TR-1"}


_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
TOOLS: Final = {
    tool.name: tool
    for tool in (
        Tool("read_policy", "Read what a policy covers.", {"policy": _TEXT}, SideEffect.READ, _read_policy),
        Tool(
            "estimate_damage",
            "Estimate a damage from its photos.",
            {"photos": _NUMBER, "kind": _TEXT},
            SideEffect.NONE,
            _estimate,
        ),
        Tool(
            "pay",
            "Pay an amount to the customer. It cannot be taken back.",
            {"amount": _NUMBER, "currency": _TEXT},
            SideEffect.IRREVERSIBLE,
            _pay,
        ),
    )
}
