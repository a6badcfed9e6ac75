"""Where charges go: durable, unlike turns, and so with the caller waiting and told."""

from typing import Protocol
from uuid import uuid4

from capture_sdk.config import Config
from capture_sdk.errors import LedgerError, TransportError
from capture_sdk.posting import Poster
from capture_sdk.records import Charge
from capture_sdk.wire import CHARGES_PATH, WRITTEN, charge_json


class Ledger(Protocol):
    """A home of charges. Writing one twice is the same as writing it once."""

    def record(self, charge: Charge) -> None:
        """Write one row; returns when it is durable. Raises LedgerError."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class HttpLedger:
    """The capture server's ledger."""

    def __init__(self, config: Config) -> None:
        self._poster = Poster(config)

    def record(self, charge: Charge) -> None:
        """Post one charge and wait for the answer, within the configured time-outs. Raises LedgerError."""
        payload = {"charges": [charge_json(charge)]}
        try:
            (result,) = self._poster.post(CHARGES_PATH, payload, request_id=uuid4().hex)
        except TransportError as exc:
            raise LedgerError(f"the charge was not written: {exc.reason}", retryable=exc.retryable) from exc
        except ValueError:
            raise LedgerError("the server answered for another number of charges", retryable=False) from None
        if result["status"] != WRITTEN:
            raise LedgerError(f"the charge was refused: {result.get('message', '')}", retryable=False)

    def close(self) -> None:
        """Close the kept connections."""
        self._poster.close()
