"""The access log: who read, opened, exported or kept which turns and runs, and when.

A line is written before the answer leaves. Where Postgres does not answer, the line goes to the structured log
``capture.access`` instead, and is counted: a read of the buffer is not refused for it, and never goes unrecorded.
"""

import logging
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final

from capture import metrics
from capture.durable import DurableUnavailable, ask
from capture.models import AccessAction, AgentAccess
from capture_sdk.runs.records import RunKey

_log = logging.getLogger("capture.access")

current_request_id: Final[ContextVar[str]] = ContextVar("current_request_id", default="")


def log_access(
    action: AccessAction,
    *,
    actor: str,
    hand: tuple[str, int],
    agents: Sequence[str],
    action_index: int | None = None,
    detail: str = "",
) -> None:
    """Write one line. ``actor`` is ``user:NAME``, ``key:NAME`` or ``command:NAME``, ``detail`` has no content."""
    table_id, hand_number = hand
    of = {"table_id": table_id, "hand_number": hand_number, "action_index": action_index}
    _write(action, of | {"agents": list(agents)}, actor=actor, detail=detail)


def log_run_access(action: AccessAction, key: RunKey, *, actor: str, detail: str = "") -> None:
    """Write one line about a run."""
    _write(action, {"run_id": key.run_id, "agents": [key.agent_id]}, actor=actor, detail=detail)


def _write(action: AccessAction, of: dict[str, Any], *, actor: str, detail: str) -> None:
    line = of | {"actor": actor, "detail": detail, "request_id": current_request_id.get()}
    try:
        ask(lambda: AgentAccess.objects.create(action=action, **line))
    except DurableUnavailable:
        metrics.ACCESS_UNSTORED.inc()
        _log.warning("access not in the database", extra={"access": {"action": str(action)} | line})
