"""The list of recent hands: what it is narrowed to, read from an address that can be shared, and written back."""

import datetime
from dataclasses import dataclass
from typing import Final

from django.http import QueryDict
from django.utils.http import urlencode

from capture.recent import HandFilter, StandsOut, StateFilter
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id

STATES: Final = {"": "all", **{str(each): str(each).replace("_", " ") for each in StateFilter}}
_WORDS: Final = ("table", "agent", "version", "model", "standsOut", "state", "since", "until")


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What was asked for: as it was written, and as the list takes it."""

    said: dict[str, str]
    wanted: HandFilter

    @property
    def query(self) -> str:
        """The query string that asks for the same."""
        return urlencode(self.said)

    @property
    def is_any(self) -> bool:
        """Whether the list is narrowed at all."""
        return bool(self.said)

    @property
    def is_narrowed(self) -> bool:
        """Whether by more than the state, which stands in sight."""
        return bool(self.said.keys() - {"state"})

    def states(self) -> list[tuple[str, str, bool]]:
        """Each state's query string, name, and whether it is the chosen one."""
        others = {name: value for name, value in self.said.items() if name != "state"}
        return [
            (
                urlencode(others | ({"state": value} if value else {})),
                name,
                self.said.get("state", "") == value,
            )
            for value, name in STATES.items()
        ]


def narrowed(given: QueryDict) -> Narrowed:
    """Read the filters. Raises IdError naming the field, its value and what is wanted."""
    said = {name: value for name in _WORDS if (value := given.get(name, "").strip())}
    wanted = HandFilter(
        table_id=checked_id("Table", said["table"]) if "table" in said else None,
        agent_id=checked_id("Agent", said["agent"]) if "agent" in said else None,
        agent_version_id=said.get("version"),
        model=said.get("model"),
        stands_out=StandsOut(one_of("Stands out", said["standsOut"], list(StandsOut)))
        if "standsOut" in said
        else None,
        state=StateFilter(one_of("State", said["state"], list(StateFilter))) if "state" in said else None,
        since=time_of("Since", said["since"]) if "since" in said else None,
        until=time_of("Until", said["until"]) if "until" in said else None,
    )
    return Narrowed(said, wanted)


def one_of(name: str, given: str, words: list[str]) -> str:
    """A word that must be one of these. Raises IdError."""
    if given not in words:
        raise IdError(f"{name} must be one of {', '.join(words)}, not {given[:40]!r}")
    return given


def time_of(name: str, given: str) -> datetime.datetime:
    """A time as the field of a page writes it; the pages are in UTC throughout. Raises IdError."""
    try:
        read = datetime.datetime.fromisoformat(given)
        return read.replace(tzinfo=datetime.UTC) if read.tzinfo is None else read.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        raise IdError(f"{name} must be a time such as 2026-01-31T12:00, in UTC, not {given[:40]!r}") from None
