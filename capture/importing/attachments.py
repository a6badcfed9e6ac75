"""Inspect keeps long texts once, apart from where they were said: put back, they are what the model saw."""

import re
from typing import Any, Final

from capture.limits import IMPORT_PUT_BACK_BYTES

_REFERENCE: Final = re.compile(r"(?:attachment|tc)://([0-9a-f]{32})")


class Attachments:
    """The texts of one sample by their names. ``is_spent``: some references stayed, since too much was put back."""

    def __init__(self, held: object) -> None:
        self._held = held if isinstance(held, dict) else {}
        self._left = IMPORT_PUT_BACK_BYTES
        self.is_spent = False

    def put_back(self, value: Any) -> Any:
        """A value with the text of each attachment in the place of its reference."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {name: self.put_back(each) for name, each in value.items()}
        return [self.put_back(each) for each in value] if isinstance(value, list) else value

    def _text(self, value: str) -> str:
        named = _REFERENCE.fullmatch(value)
        held = self._held.get(named[1]) if named else None
        if not isinstance(held, str):
            return value
        self._left -= len(held)
        if self._left < 0:
            self.is_spent = True
            return value
        return held
