"""What can go wrong with a file, as one sentence."""

from typing import Final

_LONGEST: Final = 500  # characters; a sentence has fewer


class ExchangeError(Exception):
    """A hand that cannot be exported, or a file that is not imported; nothing was written. The message says why.

    It may quote the file, which is hostile: nothing in it can move a terminal's cursor, and it ends somewhere.
    """

    def __init__(self, message: str) -> None:
        shown = (each if each.isprintable() else ascii(each)[1:-1] for each in message[:_LONGEST])
        super().__init__("".join(shown))
