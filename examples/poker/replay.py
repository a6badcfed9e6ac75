"""Recorded hands through the pipeline that live ones take: a turn an action, SDK, ledger and all."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django_redis import get_redis_connection

from capture.ledger import record_charges
from capture_sdk import Charge, Client, Config, Outbox, knowledge
from capture_sdk.transports.redis import RedisTransport
from examples.poker.recorded import Move, RecordedHand

_ENVELOPE: Final = Path(__file__).with_name("recorded.md").read_text(encoding="utf-8")


def client() -> Client:
    """The SDK on the server's own connection to the buffer."""
    # A recorded hand plays in no time, so the queue may grow longer than a live agent's ever would.
    config = Config(ttl_seconds=settings.CAPTURE_TTL_SECONDS, queue_items=100_000)
    redis = get_redis_connection("capture")
    return Client(config, transport=RedisTransport(redis, ttl_seconds=config.ttl_seconds))


class Replay:
    """Plays recorded hands; ``witness`` holds the hash of each prompt as it was assembled."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.witness: dict[tuple[str, int, int], str] = {}

    def play(self, hands: Iterable[RecordedHand]) -> None:
        """Take every recorded action as a turn and charge it. Raises RuntimeError when any was lost."""
        for hand in hands:
            record_charges([self._take(hand, move) for move in hand.moves])
        result = self._client.flush(60)
        if not result:
            raise RuntimeError(f"the buffer did not take every turn: {result}")

    def _take(self, hand: RecordedHand, move: Move) -> Charge:
        outbox: Outbox[dict[str, Any], None] = Outbox(lambda message: None)  # the table has long heard it
        with self._client.turn(
            table_id=hand.table_id,
            hand_number=hand.hand_number,
            agent_id=move.agent_id,
            action_index=move.index,
            outbox=outbox,
        ) as turn:
            envelope = _ENVELOPE.replace("{variant}", hand.variant)
            remainder = _remainder(**move.knowledge)
            turn.prompt(envelope, remainder)
            turn.response(move.text, model="recorded", provider="phh")
            turn.parsed(move.action, move.amount)
            outbox.send({"type": "action", "action": move.action, "amount": move.amount})
        prompt = f"{envelope}\n{remainder}".encode()
        self.witness[hand.table_id, hand.hand_number, move.index] = hashlib.sha256(prompt).hexdigest()
        return turn.charge()


@knowledge
def _remainder(*, state: dict[str, Any], actionLog: list[dict[str, Any]]) -> str:
    table = json.dumps(state, ensure_ascii=False, indent=1)
    said = "\n".join(f"- {json.dumps(each, ensure_ascii=False)}" for each in actionLog)
    return f"## Table\n{table}\n\n## Action log\n{said or '(nothing yet)'}\n"
