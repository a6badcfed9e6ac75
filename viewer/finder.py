"""What is looked for in a long text: where it stands next, before, and how often. Offsets are bytes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from capture.limits import FIND_COUNTED

_STEP: Final = 65_536  # bytes a step back


@dataclass(frozen=True)
class Finder:
    """Looks for ``wanted`` in ``text``, in capitals or not."""

    text: bytes
    wanted: str

    @cached_property
    def count(self) -> int:
        """How often it stands there, up to one more than is counted."""
        found = 0
        for _ in self._pattern.finditer(self.text):
            found += 1
            if found > FIND_COUNTED:
                break
        return found

    def next(self, start: int) -> int | None:
        """Where it stands first at or behind ``start``."""
        match = self._pattern.search(self.text, start)
        return None if match is None else match.start()

    def previous(self, end: int) -> int | None:
        """Where it stands last before ``end``: looked for step by step, so that the whole is never walked for it."""
        for high in range(end, 0, -_STEP):
            low = max(high - _STEP, 0)
            starts = [each[0] for each in self.spans(low, high)]
            if starts:
                return starts[-1]
        return None

    def spans(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """From where to where each stands that begins from ``start`` to before ``end``."""
        for match in self._pattern.finditer(self.text, start):
            if match.start() >= end:
                return
            yield match.span()

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        return re.compile(b"".join(map(_either_case, self.wanted)), re.IGNORECASE)


def _either_case(character: str) -> bytes:
    """A pattern of bytes ignores the case of ASCII alone."""
    if character.isascii():
        return re.escape(character.encode())
    forms = {character, character.lower(), character.upper()}
    spelled = sorted(re.escape(form.encode("utf-8", "surrogatepass")) for form in forms)
    return b"(?:" + b"|".join(spelled) + b")"
