"""The inference ledger: its only writer, and the one-row-a-hand table that it keeps beside it.

``writing`` adds charges and reads a hand's; ``hands`` keeps ``agent_hands`` and makes it anew; ``locks`` says who
waits for whom.
"""

from capture.ledger.hands import Rebuilt, rebuild_hands
from capture.ledger.locks import LedgerBusy
from capture.ledger.writing import amount_json, charges_of_hand, record_charges, storable

__all__ = [
    "LedgerBusy",
    "Rebuilt",
    "amount_json",
    "charges_of_hand",
    "rebuild_hands",
    "record_charges",
    "storable",
]
