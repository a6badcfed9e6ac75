"""From shapes to strict JSON text, at every size.

A hand's prompts begin with the same envelope: it is decoded and escaped once. Each prompt holds a place
in the shape, under a name that nobody can guess, and is put in when the rest is text.
"""

import json
import secrets

from capture_sdk.freeze import jsonable
from capture_sdk.prompt import Prompt


class Writer:
    """Writes one answer."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        self._prompts: list[str] = []
        self._escaped: dict[bytes, str] = {}

    def prompt(self, prompt: Prompt | None) -> object:
        """What stands for a prompt in a shape: its place, or the value itself where that is no text."""
        if prompt is None or prompt.envelope is None:
            return None
        try:
            text = self._escaped_whole(prompt.envelope, prompt) if prompt.is_text else None
        except UnicodeDecodeError:  # a character lies across the border of two parts, or it is no UTF-8
            text = None
        if text is None:
            return prompt.text()
        self._prompts.append(f'"{text}"')
        return f"{self._mark}:{len(self._prompts) - 1}"

    def dumps(self, shape: dict[str, object]) -> str:
        """The text. Most shapes hold nothing but plain values: only the others are walked through in Python."""
        try:
            text = json.dumps(shape, allow_nan=False)
        except (TypeError, ValueError, RecursionError):  # bytes, NaN, a giant integer, a tower of lists
            text = json.dumps(jsonable(shape), allow_nan=False)
        head, *others = text.split(f'"{self._mark}:')
        pieces = [head]
        for other in others:
            place, _, rest = other.partition('"')
            pieces += [self._prompts[int(place)], rest]
        return "".join(pieces)

    def _escaped_whole(self, envelope: bytes, prompt: Prompt) -> str:
        begin = self._escaped.get(envelope)
        if begin is None:
            begin = self._escaped[envelope] = _escape(envelope)
        return begin + _escape(prompt.joiner) + _escape(prompt.remainder) if prompt.remainder else begin


def _escape(part: bytes) -> str:
    return json.dumps(part.decode("utf-8", "surrogatepass"))[1:-1]
