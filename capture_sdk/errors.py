"""The SDK's errors, all of them raised at set-up or by the reader; none is ever raised into a turn.

CaptureError
├── ConfigError      an option or an environment variable is missing, unknown or malformed
├── IdError          an id or an index that the buffer's keys cannot hold
├── RecordError      stored bytes that are not a record this version can read
└── TransportError   the buffer could not be written; carries whether trying again can help
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
    """

    def __init__(self, reason: str, *, retryable: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
