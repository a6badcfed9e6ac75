"""Said → parsed → adjusted → sent: at which link an action became another."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from capture.limits import SAID_BRACES, SAID_CHARACTERS
from capture_sdk.records import TurnRecord
from viewer.why.values import line_of

_LINE: Final = 200  # characters of an answer's first line, or of a value
_OBJECT: Final = 4_096  # characters of the action's object


@dataclass(frozen=True, slots=True)
class Said:
    """The part of the raw answer that was parsed; else, with ``is_action`` false, only its first line.

    ``size`` counts the characters of the whole answer.
    """

    text: str
    is_action: bool
    size: int


@dataclass(frozen=True, slots=True)
class Link:
    """One link behind the answer: ``parsed``, the name of a rule that changed it, or ``sent``."""

    label: str
    value: str
    is_change: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """How the answer became what left; ``said`` is None where the answer was not captured."""

    said: Said | None
    links: tuple[Link, ...]
    is_clamped: bool


def chain_of(record: TurnRecord) -> Chain:
    """Every link that was captured; parsed and sent are compared by the messages, whatever the rules claim."""
    links = [] if record.action is None else [Link("parsed", _action(record.action, record.amount))]
    for each in record.adjustments:
        links.append(Link(each.rule, f"{_short(each.before)} → {_short(each.after)}", True, each.why))
    if record.decision is not None:
        sent = _action(*record.sent) if record.sent else "nothing"
        is_unexplained = record.is_clamped and not record.adjustments
        why = "no rule says why" if is_unexplained else ""
        links.append(Link("sent", sent, is_unexplained, why))
    return Chain(said(record), tuple(links), record.is_clamped)


def said(record: TurnRecord) -> Said | None:
    """What the agent said: the JSON object that states the parsed action, as it stands in the answer."""
    if record.response is None:
        return None
    text = _text(record.response)
    for found in _objects(text[-SAID_CHARACTERS:]) if record.action is not None else ():
        if _states(json.loads(found), record):
            return Said(found, True, len(text))
    first = text.lstrip().partition("\n")[0]
    return Said(first[:_LINE], False, len(text))


def _objects(text: str) -> Iterator[str]:
    """The JSON objects in a text, the last first: an agent that thinks aloud ends with its action."""
    decoder = json.JSONDecoder()
    start = len(text)
    for _ in range(SAID_BRACES):
        start = text.rfind("{", 0, start)
        if start < 0:
            return
        candidate = text[start : start + _OBJECT]
        try:
            _, end = decoder.raw_decode(candidate)
        except (ValueError, RecursionError):
            continue
        yield candidate[:end]


def _states(found: object, record: TurnRecord) -> bool:
    """Whether this is the action that was parsed, its case and the spelling of the amount aside."""
    action = found.get("action") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(action, str) or record.action is None:
        return False
    amount = found.get("amount")
    is_amount = record.amount is None or amount == record.amount or str(amount) == str(record.amount)
    return is_amount and action.strip().casefold() == record.action.strip().casefold()


def _text(answer: str | bytes) -> str:
    return answer if isinstance(answer, str) else answer.decode("utf-8", "backslashreplace")


def _action(action: str, amount: object) -> str:
    return action if amount is None else f"{action} {amount if isinstance(amount, str) else _short(amount)}"


def _short(value: object) -> str:
    text = line_of(value)
    return text if len(text) <= _LINE else text[: _LINE - 1] + "…"
