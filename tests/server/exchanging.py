"""What the tests of exported hands share: a kept hand, both commands, and what the durable store has."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from capture.ledger import charges_of_hand
from capture.limits import MIB
from capture.models import AgentCallEnvelope, AgentCallRecord, AgentHand, AgentInferenceCharge
from capture.pins.pin import promote
from capture.pins.walking import stand_alone
from capture_sdk.codec import decompress, unframe
from tests.build import ENVELOPE, HAND, TABLE, fall_back, play, seat


def keep_a_hand(buffer: Any) -> None:
    """Two agents, two envelopes, three turns and a fallback, pinned; the buffer has forgotten them."""
    at = seat("a")
    play(at, 1, reasoning="because")
    play(at, 2, envelope=ENVELOPE + "Be bolder.")
    play(seat("b"), 1)
    fall_back(seat("b"), 3)
    keep("a", "b")
    buffer.flushall()


def keep(*agents: str, table: str = TABLE) -> None:
    """Pin these agents' turns."""
    for agent in agents:
        promote(table, HAND, agent_id=agent, by="user:anna")


def run(command: str, *arguments: object) -> dict[str, Any]:
    """Run a command; its figures."""
    out = StringIO()
    call_command(command, *map(str, arguments), "--json", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def export(path: Path, *arguments: object, table: str = TABLE) -> dict[str, Any]:
    """Export the hand into this folder."""
    return run("export_hand", table, HAND, path / "hand.zip", *arguments)


def take(path: Path, *arguments: object) -> dict[str, Any]:
    """Import it again."""
    return run("import_hand", path / "hand.zip", *arguments)


def stored(table: str = TABLE) -> tuple[dict[Any, Any], dict[Any, Any], list[Any]]:
    """What the durable store has of the hand: records, envelopes, charges; how these are packed is no part of it."""
    rows = stand_alone(list(AgentCallRecord.objects.all()))
    envelopes = AgentCallEnvelope.objects.values_list("agent_id", "env_hash", "body", "size")
    return (
        {
            (row.agent_id, row.action_index): (unframe(bytes(row.record)), row.agent_version_id)
            for row in rows
        },
        {(agent, name): (decompress(bytes(body), 64 * MIB), size) for agent, name, body, size in envelopes},
        charges_of_hand(table, HAND, agent_id=None),
    )


def wipe() -> None:
    """Forget everything that is durable."""
    for model in (AgentCallRecord, AgentCallEnvelope, AgentInferenceCharge, AgentHand):
        model.objects.all().delete()
