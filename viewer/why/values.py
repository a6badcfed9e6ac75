"""Known values as the comparisons see them: opened forms, paths, and a line that shows one."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from capture.limits import KNOWN_CHARACTERS
from capture_sdk.freeze import jsonable

# Forms whose inside is a plain list or mapping of its own: class and content, or the content alone.
_WITH_CLASS: Final = {"$dataclass", "$namedtuple", "$pydantic", "$attrs", "$subclass"}
_WITHOUT: Final = {"$tuple"}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Shown:
    """The beginning of a value's JSON text, and how many characters it has."""

    text: str
    size: int

    @property
    def is_cut(self) -> bool:
        """Whether there is more."""
        return self.size > len(self.text)


def opened(value: object) -> tuple[str, Any]:
    """What kind of thing it is, and its inside: a dataclass is opened to its fields, a tuple to its items.

    Any other ``$`` form is one value, and so is one that is not shaped as its kind should be.
    """
    if isinstance(value, dict) and len(value) == 1:
        ((form, inside),) = value.items()
        if form in _WITHOUT and isinstance(inside, list):
            return form, inside
        if form in _WITH_CLASS and isinstance(inside, list) and len(inside) == 2:
            return f"{form} {inside[0]}", inside[1]
        if str(form).startswith("$"):
            return str(form), None
    return type(value).__name__, value


def named(path: str, key: object) -> str:
    """The path of a mapping's entry: ``state.pot``, or ``state["odd key"]``."""
    if not isinstance(key, str) or not _NAME.fullmatch(key):
        return f"{path}[{json.dumps(str(key), ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def line_of(value: object) -> str:
    """The value as JSON, on one line."""
    return json.dumps(jsonable(value), ensure_ascii=False)


def shown(value: object) -> Shown:
    """The beginning of the value, for a line of a page."""
    if isinstance(value, str) and len(value) > 2 * KNOWN_CHARACTERS:
        return Shown(json.dumps(value[:KNOWN_CHARACTERS], ensure_ascii=False)[:-1], len(value) + 2)
    text = line_of(value)
    return Shown(text[:KNOWN_CHARACTERS], len(text))
