"""Why a file is not imported, as one sentence."""

from typing import Final

_LONGEST: Final = 500  # characters; a sentence has fewer


class FileRefused(Exception):
    """A file of which nothing is imported; the message says why, and where in it.

    It may quote the file, which is hostile: nothing in it can move a terminal's cursor, and it ends somewhere.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def printable(text: str) -> str:
    """A text that a terminal can show: whatever would not print is written as its escape, and it ends somewhere."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text[:_LONGEST])
