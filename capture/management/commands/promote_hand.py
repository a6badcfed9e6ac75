"""``promote_hand``: keep a hand, every agent of it or those that are named."""

from typing import Any

from django.core.management.base import CommandError

from capture.hands import StoresUnavailable
from capture.management.figures import HandCommand, actor
from capture.pins.keeping import AgentPin, HandPin, keep_hand


class Command(HandCommand):
    help = "Keeps a hand: pins every agent's turns, or those of --agent. Exit status 1 when a store was down."

    def handle(self, *args: Any, **options: Any) -> None:
        hand = (options["table"], options["hand"])
        try:
            kept = keep_hand(*hand, agents=options["agent"], by=actor("promote_hand"))
        except StoresUnavailable as exc:
            raise CommandError(f"nothing was kept: {exc}") from exc
        self.tell({"tableId": hand[0], "handNumber": hand[1], **_figures(kept)}, options)
        if not kept.is_whole:
            raise CommandError("not everything could be kept or counted: a store failed; run it again")


def _figures(kept: HandPin) -> dict[str, object]:
    missing = kept.missing
    return {
        "agents": [_agent(each) for each in kept.agents],
        "missing": None
        if missing is None
        else [
            {"agentId": each.key.agent_id, "actionIndex": each.key.action_index, "reason": str(each.reason)}
            for each in missing
        ],
    }


def _agent(each: AgentPin) -> dict[str, object]:
    if each.pin is None:
        return {"agentId": each.agent_id, "status": "failed", "failure": each.failure}
    return {
        "agentId": each.agent_id,
        "status": str(each.pin.status),
        "inserted": each.pin.inserted,
        "total": each.pin.total,
        "missing": each.pin.missing,
    }
