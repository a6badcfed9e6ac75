"""What becomes of the items of a batch: one bad item costs neither the others nor more than itself."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from capture import metrics
from capture.auth import Caller
from capture_sdk.errors import IdError, RecordError
from capture_sdk.transports import BLOB_NEEDED
from capture_sdk.wire import REFUSED, WRITTEN

_NOT_YOURS: Final = "not_yours"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one item; ``reason`` is one word, ``message`` names the value and the remedy."""

    status: str
    reason: str = ""
    message: str = ""


class Refused(Exception):
    """An item that is not taken."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.outcome = Outcome(REFUSED, reason, message)


def read_item(
    check: Callable[[Mapping[str, Any], Caller], Item], item: object, caller: Caller
) -> Item | Outcome:
    """An item, checked, or why it is not taken."""
    if not isinstance(item, Mapping):
        return Outcome(REFUSED, "bad_value", f"an item is an object, not {type(item).__name__}")
    try:
        return check(item, caller)
    except Refused as exc:
        return exc.outcome
    except (RecordError, IdError) as exc:
        return Outcome(REFUSED, "bad_value", str(exc))


def own(agent_id: str, caller: Caller) -> None:
    """Refuse an item of an agent to which the caller is not bound."""
    if not caller.covers(agent_id):
        raise Refused(_NOT_YOURS, f"{caller.actor} is not bound to the agent {agent_id!r}")


def written(refusal: str | None, needed: str) -> Outcome:
    """What the buffer's writer made of an item; ``needed`` is the word for bytes that have to be sent again."""
    if refusal is None:
        return Outcome(WRITTEN)
    if refusal == BLOB_NEEDED:
        return Outcome(needed)
    return Outcome("failed", refusal, "the buffer did not take it: send it again")


def counted(kind: str, outcomes: list[Outcome]) -> list[Outcome]:
    """The same outcomes, counted for the metrics."""
    metrics.count_ingested(kind, [each.status for each in outcomes])
    return outcomes


def outcomes_json(outcomes: Iterable[Outcome]) -> dict[str, object]:
    """The answer to a batch."""
    return {
        "results": [
            {"status": each.status}
            | ({"reason": each.reason, "message": each.message} if each.reason else {})
            for each in outcomes
        ]
    }
