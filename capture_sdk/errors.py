"""The SDK's errors, raised at set-up, by a reader, or by the ledger's door; none is ever raised into a turn.

CaptureError
├── ConfigError      an option or an environment variable is missing, unknown or malformed
├── IdError          an id or an index that the buffer's keys cannot hold
├── RecordError      stored bytes that are not a record this version can read
├── TransportError   the buffer could not be written; carries whether trying again can help
└── LedgerError      a charge was not written: trying again is the caller's
"""


class CaptureError(Exception):
    """Base of everything this package raises."""


class ConfigError(CaptureError, ValueError):
    """A setting is missing, unknown or malformed; the message names it and the remedy."""


class IdError(CaptureError, ValueError):
    """A table, hand, agent or action index that is not accepted; the message names the value."""


class RecordError(CaptureError, ValueError):
    """Bytes from a store that do not decode to a record."""


class TransportError(CaptureError):
    """A write that did not reach the buffer.

    ``reason`` is one short word for logs and counters; the message never holds recorded content.
    ``retry_after`` is the seconds that the server asks to be left alone, where it does.
    """

    def __init__(self, reason: str, *, retryable: bool = True, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after


class LedgerError(CaptureError):
    """A charge that is not in the ledger. ``retryable`` says whether the same call may succeed later."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable
