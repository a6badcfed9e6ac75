"""Runs built event by event, as a writer would emit them."""

import datetime
from collections.abc import Mapping

from capture_sdk.runs.records import EventKind, RunEvent, RunKey, body

KEY = RunKey("claims-agent", "run-1")
BEGAN = datetime.datetime(2026, 1, 2, 12, 0, tzinfo=datetime.UTC)


class Writing:
    """One writer of one run: each call emits an event, 10 ms after the one before, and gives its id."""

    def __init__(self, *, writer: str = "w", policy: str | None = "default") -> None:
        self.events: list[RunEvent] = []
        self._writer = writer
        self._policy = policy

    def emit(
        self,
        kind: str,
        fields: Mapping[str, object] | None = None,
        *,
        parent: str | None = None,
        at_ms: int | None = None,
        raw: bytes | None = None,
    ) -> str:
        """Emit an event of any kind; ``raw`` in place of a body that reads as one."""
        number = len(self.events)
        at = BEGAN + datetime.timedelta(milliseconds=number * 10 if at_ms is None else at_ms)
        event_id = f"{self._writer}{number}"
        packed = body(**(fields or {})) if raw is None else raw
        self.events.append(
            RunEvent(
                KEY, event_id, kind, at, packed, self._writer, number, parent_id=parent, policy=self._policy
            )
        )
        return event_id

    def call(self, *, request: object = "Which?", **fields: object) -> str:
        """A model call begins, with all that it should name."""
        named = {"provider": "openai", "model": "m", "operation": "chat", "request": request, "settings": {}}
        return self.emit(EventKind.MODEL_CALL_STARTED, {**named, **fields})

    def called(self, call: str, **fields: object) -> str:
        """A model call ends well."""
        told = {"call": call, "status": "ok", "output": "This.", "usage": {"total_tokens": 3}}
        return self.emit(EventKind.MODEL_CALL_FINISHED, {**told, **fields})

    def propose(self, name: str = "search", **fields: object) -> str:
        """A tool is proposed."""
        return self.emit(EventKind.TOOL_PROPOSED, {"name": name, **fields})

    def deny(self, proposal: str) -> str:
        """A proposal is denied."""
        return self.emit(
            EventKind.TOOL_DENIED, {"proposal": proposal, "reason": "not today", "by": "a person"}
        )

    def execute(self, name: str = "search", **fields: object) -> str:
        """A tool's execution begins."""
        return self.emit(EventKind.TOOL_STARTED, {"name": name, **fields})

    def executed(self, execution: str, **fields: object) -> str:
        """A tool's execution ends well."""
        return self.emit(
            EventKind.TOOL_FINISHED, {"execution": execution, "status": "ok", "output": 1, **fields}
        )

    def checkpoint(self, place: str | None = None, **fields: object) -> str:
        """A checkpoint with the whole state."""
        placed = {} if place is None else {"place": place}
        return self.emit(
            EventKind.CHECKPOINT, {"name": "point", **placed, "state": {"n": 1}, "isWhole": True, **fields}
        )

    def start(self, **fields: object) -> str:
        """The run begins."""
        return self.emit(EventKind.RUN_STARTED, {"name": "claim", "metadata": {"customer": 7}, **fields})

    def finish(self, status: str = "ok") -> str:
        """The run ends."""
        return self.emit(EventKind.RUN_FINISHED, {"status": status})
