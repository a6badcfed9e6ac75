"""Which session, and which sub-agent of it, a record of a Claude Code session belongs to."""

import datetime
from collections.abc import Iterable
from typing import Any, Final

from capture.importing.reading import moment, text_or_none

_PLACEHOLDER: Final = "default"  # what the SDK writes before it knows the session's id


class Threads:
    """Looks through all records once; a record without a session belongs to the one before it."""

    def __init__(self, records: Iterable[dict[str, Any]]) -> None:
        self._roots: dict[str, str] = {}
        self._places: dict[int, tuple[str, str | None]] = {}
        self._began: dict[tuple[str, str | None], datetime.datetime] = {}
        held = list(records)
        session = next(filter(None, map(_session, held)), "")
        for record in held:
            session = _session(record) or session
            self._note(record, (session, self._thread(record)))

    def of(self, record: dict[str, Any]) -> tuple[str, str | None]:
        """The session's id and the sub-agent's name in it, None for the session itself."""
        return self._places[id(record)]

    def began(self, session: str, thread: str | None) -> datetime.datetime | None:
        """The first time that the records of a run tell."""
        return self._began.get((session, thread))

    def _note(self, record: dict[str, Any], place: tuple[str, str | None]) -> None:
        self._places[id(record)] = place
        told = moment(record.get("timestamp"))
        if told is not None:
            self._began.setdefault(place, told)

    def _thread(self, record: dict[str, Any]) -> str | None:
        """A sub-agent is named by its id, by the tool use that began it, or by the first record of its chain."""
        if not _is_aside(record):
            return None
        named = text_or_none(record.get("agentId")) or text_or_none(record.get("parent_tool_use_id"))
        return named or self._root(text_or_none(record.get("uuid")) or "", record.get("parentUuid"))

    def _root(self, uuid: str, parent: object) -> str:
        root = self._roots.get(parent, uuid) if isinstance(parent, str) else uuid
        self._roots[uuid] = root
        return root or "sidechain"


def _is_aside(record: dict[str, Any]) -> bool:
    return record.get("isSidechain") is True or isinstance(record.get("parent_tool_use_id"), str)


def _session(record: dict[str, Any]) -> str | None:
    named = text_or_none(record.get("sessionId")) or text_or_none(record.get("session_id"))
    return None if named == _PLACEHOLDER else named
