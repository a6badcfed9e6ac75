"""Agent Decision Capture, the agent's side.

Records what an agent knew, the exact prompt it was told, the raw response and the decision that really
left, turn by turn, without being felt by the agent: nothing here raises into a turn, blocks it or
changes what it is given.

    client = Client.from_env()
    outbox = Outbox(connection.send)

    @knowledge
    def build_prompt(state, action_log, notes): ...

    with client.turn(table_id=..., hand_number=..., agent_id=..., action_index=..., outbox=outbox) as turn:
        envelope, remainder = build_prompt(state, action_log, notes)
        turn.prompt(envelope, remainder)
        raw = ask_the_model(envelope + "\\n" + remainder)
        turn.response(raw)
        action = parse(raw)
        turn.parsed(action.name, action.amount)
        outbox.send({"type": "player_action", "action": action.name, "amount": action.amount})
"""

from capture_sdk._version import __version__
from capture_sdk.binding import knowledge
from capture_sdk.client import Client
from capture_sdk.config import Config
from capture_sdk.delivery import FlushResult, Stats
from capture_sdk.errors import CaptureError, ConfigError, IdError, LedgerError, RecordError, TransportError
from capture_sdk.ledger import Ledger
from capture_sdk.outbox import AsyncOutbox, Outbox
from capture_sdk.prompt import PromptStatus
from capture_sdk.records import Adjustment, Attempt, Charge, TurnKey, TurnRecord
from capture_sdk.redact import Action, CapturePolicy, Keys, Rule, decrypt
from capture_sdk.transports.memory import MemoryTransport
from capture_sdk.turns import Turn, current_turn

__all__ = [
    "Action",
    "Adjustment",
    "AsyncOutbox",
    "Attempt",
    "CaptureError",
    "CapturePolicy",
    "Charge",
    "Client",
    "Config",
    "ConfigError",
    "FlushResult",
    "IdError",
    "Keys",
    "Ledger",
    "LedgerError",
    "MemoryTransport",
    "Outbox",
    "PromptStatus",
    "RecordError",
    "Rule",
    "Stats",
    "TransportError",
    "Turn",
    "TurnKey",
    "TurnRecord",
    "__version__",
    "current_turn",
    "decrypt",
    "knowledge",
]
