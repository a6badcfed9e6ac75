"""What can go wrong with a file, as one sentence."""


class ExchangeError(Exception):
    """A hand that cannot be exported, or a file that is not imported; nothing was written. The message says why."""
