"""The context builder: what the agent knows goes in, the part of the prompt that changes comes out.

``@knowledge`` records what the builder is called with. A memory source that is added to its signature one
day lands in the trace by itself.
"""

from typing import Any

from capture_sdk import knowledge

Frame = dict[str, Any]

_ANSWER = """## Your answer

Think in a few sentences, then end with one JSON object on a line of its own and nothing behind it:

{"action": "call", "reason": "<one sentence>"}
{"action": "raise", "amount": <total to raise to on this street>, "reason": "<one sentence>"}

The action must be one of the legal actions above. For a raise the amount must lie in its range, as a total
for this street. Anything that cannot be read as such an object counts as no answer, and the table then checks
for you where that is free and folds your hand where it is not.

## Before you answer

- Is every card that you rely on written above, and not only likely?
- Does the log explain the pot? If not, the log is incomplete: decide from the table.
- Have you counted what a call costs against what it can win?
- Would you be content to see this decision read back to you tomorrow, with the cards hidden?
"""


@knowledge
def build_remainder(
    *,
    state: Frame,
    your_turn: Frame,
    action_log: list[Frame],
    hand_history: list[Frame],
    notes: dict[str, dict[str, int]],
) -> str:
    """Write down what is true now; the standing instructions (the envelope) go before it."""
    sections = [
        _table(state),
        _legal(your_turn),
        _log(action_log),
        _history(hand_history),
        _notes(notes),
        _ANSWER,
    ]
    return "\n".join(sections)


def _table(state: Frame) -> str:
    lines = ["## Table", f"Hand {state['handNumber']}, {state['street']}. Pot {state['pot']}."]
    lines += [f"Board: {' '.join(state['board']) or 'none yet'}", f"Your cards: {' '.join(state['cards'])}"]
    for player in state["players"]:
        role = f" ({player['role']})" if player["role"] else ""
        out = ", folded" if player["hasFolded"] else ""
        lines.append(f"- {player['agentId']}{role}: {player['stack']} behind, {player['bet']} in front{out}")
    return "\n".join([*lines, ""])


def _legal(your_turn: Frame) -> str:
    lines = ["## Legal actions"]
    for action in your_turn["legal"]:
        if action == "raise":
            lines.append(f"- raise to {your_turn['minRaise']}..{your_turn['maxRaise']}")
        else:
            lines.append(f"- {action}" + (f" {your_turn['toCall']}" if action == "call" else ""))
    return "\n".join([*lines, f"Answer within {your_turn['deadlineMs']} ms.", ""])


def _log(action_log: list[Frame]) -> str:
    lines = ["## Action log"] + [_action(frame) for frame in action_log]
    return "\n".join([*(lines if action_log else [*lines, "(nothing seen in this hand)"]), ""])


def _action(frame: Frame) -> str:
    amount = f" {frame['amount']}" if frame.get("amount") is not None else ""
    return f"- {frame['street']}: {frame['agentId']} {frame['action']}{amount}"


def _history(hand_history: list[Frame]) -> str:
    lines = ["## Hand history"]
    for result in hand_history:
        net = ", ".join(f"{agent} {chips:+d}" for agent, chips in result["net"].items())
        lines.append(f"- hand {result['handNumber']}, board {' '.join(result['board']) or 'none'}: {net}")
    return "\n".join([*(lines if hand_history else [*lines, "(none)"]), ""])


def _notes(notes: dict[str, dict[str, int]]) -> str:
    lines = ["## Notes"]
    for agent, counts in sorted(notes.items()):
        lines.append(
            f"- {agent}: " + ", ".join(f"{count} × {action}" for action, count in sorted(counts.items()))
        )
    return "\n".join([*(lines if notes else [*lines, "(none)"]), ""])
