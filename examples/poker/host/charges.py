"""Agents report what a turn cost; the host writes it to the ledger, a hand at a time, as a platform would."""

import datetime
import threading
from typing import Any

from capture.ledger import record_charges
from capture_sdk import Charge, TurnKey
from capture_sdk.freeze import pack

Frame = dict[str, Any]


class Till:
    """Collects the reports of all tables; ``settle`` writes them. A failed write keeps them for the next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[Charge] = []
        self.charges: list[Charge] = []

    def take(self, table_id: str, agent_id: str, report: Frame) -> None:
        """Take one report. The host knows the table and the agent by the connection, not by the report."""
        with self._lock:
            self._open.append(read_charge(table_id, agent_id, report))

    def settle(self) -> None:
        """Write what was taken so far. Idempotent on the ledger's side, so that a repeat is harmless."""
        with self._lock:
            due, self._open = self._open, []
        try:
            record_charges(due)
        except BaseException:
            with self._lock:
                self._open = due + self._open
            raise
        with self._lock:
            self.charges += due


def read_charge(table_id: str, agent_id: str, report: Frame) -> Charge:
    """The ledger's row in an agent's report."""
    fields = dict(report)
    key = TurnKey(table_id, fields.pop("hand_number"), agent_id, fields.pop("action_index"))
    usage = fields.pop("usage")
    charged_at = datetime.datetime.fromisoformat(fields.pop("charged_at"))
    return Charge(key=key, charged_at=charged_at, usage=None if usage is None else pack(usage), **fields)
