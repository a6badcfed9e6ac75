"""What one process tells another so that both record into one run: ``1:agent:run:parent``, each percent-encoded.

It travels in the environment variable AGENT_CAPTURE_RUN, or in the header X-Agent-Capture-Run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id
from capture_sdk.records import RunKey

RUN_VARIABLE: Final = "AGENT_CAPTURE_RUN"
RUN_HEADER: Final = "X-Agent-Capture-Run"
_VERSION: Final = "1"
_LONGEST: Final = 8_192  # three ids of 200 characters, each written as up to 12


@dataclass(frozen=True, slots=True)
class Handover:
    """A run, and the event within which it was handed over, if there is one."""

    key: RunKey
    parent_id: str | None = None

    def __str__(self) -> str:
        parts = (self.key.agent_id, self.key.run_id, self.parent_id or "")
        return ":".join([_VERSION, *(quote(part, safe="") for part in parts)])


def handed(value: str | bytes | Mapping[str, str] | None) -> Handover | None:
    """What was handed over: the value itself, or headers or an environment that hold it; None where nothing was.

    Raises IdError for what is no such value.
    """
    text = value if value is None or isinstance(value, str | bytes) else _found(value)
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    if text is None or not text.strip():
        return None
    version, *parts = text.strip().split(":") if len(text) <= _LONGEST else ("",)
    if version != _VERSION or len(parts) != 3:
        raise IdError("what was handed over names no run: 1:agent:run:parent is the form")
    agent_id, run_id, parent_id = (unquote(part, errors="strict") for part in parts)
    key = RunKey(agent_id, run_id)
    return Handover(key, checked_id("Parent id", parent_id) if parent_id else None)


def _found(given: Mapping[str, str]) -> str | None:
    """Headers are named in any case, and by WSGI with HTTP_ before them."""
    names = {RUN_VARIABLE.lower(), RUN_HEADER.lower(), f"http_{RUN_HEADER.lower().replace('-', '_')}"}
    for name, value in given.items():
        if (name.decode("latin-1") if isinstance(name, bytes) else str(name)).lower() in names:
            return value
    return None
