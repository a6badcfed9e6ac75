"""Agents report what a turn cost; the host writes it to the ledger, a hand at a time, as a platform would."""

import threading
from typing import Any

from capture.ledger import record_charges
from capture_sdk import Charge
from capture_sdk.wire import charge_from_json

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
    """The ledger's row in an agent's report, of the table and agent that the host knows it to be."""
    return charge_from_json(report | {"tableId": table_id, "agentId": agent_id})
