"""From the raw answer to a legal action: read it, correct what the table would refuse, or play safe."""

import json
from dataclasses import dataclass
from typing import Any

Frame = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Action:
    """An action with its amount; a raise's amount is the total it raises to."""

    name: str
    amount: int | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """One rule that changed an action, and why."""

    rule: str
    before: Any
    after: Any
    why: str


def parse(text: str) -> Action | None:
    """The action in the last JSON object of the answer, or None when there is none that can be read."""
    start = text.rfind("{")
    try:
        found = json.loads(text[start : text.rindex("}") + 1]) if start >= 0 else None
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("action") not in ("fold", "check", "call", "raise"):
        return None
    amount = found.get("amount")
    return Action(found["action"], amount if isinstance(amount, int) and found["action"] == "raise" else None)


def make_legal(action: Action, your_turn: Frame) -> tuple[Action, list[Correction]]:
    """The nearest action that the table accepts, with every correction on the way there."""
    legal = your_turn["legal"]
    corrections: list[Correction] = []
    if action.name not in legal:
        nearest = {"raise": "call", "call": "check", "check": "fold", "fold": "fold"}[action.name]
        nearest = nearest if nearest in legal else safe(your_turn).name
        why = f"{action.name} is not legal now"
        corrections.append(Correction("nearest_legal_action", action.name, nearest, why))
        action = Action(nearest)
    if action.name == "raise":
        action, more = _clamped(action, your_turn["minRaise"], your_turn["maxRaise"])
        corrections += more
    return action, corrections


def safe(your_turn: Frame) -> Action:
    """Check where that is free, else fold."""
    return Action("check" if "check" in your_turn["legal"] else "fold")


def _clamped(action: Action, low: int, high: int) -> tuple[Action, list[Correction]]:
    asked = action.amount
    amount = min(max(asked if asked is not None else low, low), high)
    if amount == asked:
        return action, []
    why = f"a raise must lie in {low}..{high}"
    return Action("raise", amount), [Correction("clamp_to_range", asked, amount, why)]
