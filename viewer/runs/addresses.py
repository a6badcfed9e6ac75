"""What the address of a run's page names, read with the same strictness as the API's parameters."""

import re
from typing import Final

from django.http import HttpRequest, QueryDict
from django.utils.http import urlencode

from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.runs.records import RunKey

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def run_address(given: QueryDict) -> RunKey:
    """``agentId`` and ``runId``. Raises IdError."""
    return RunKey(given.get("agentId", ""), given.get("runId", ""))


def given_of(request: HttpRequest) -> QueryDict:
    """The address. A form carries it as one escaped field ``at``: in fields of their own line ends would change."""
    if "at" not in request.GET:
        return request.GET
    given = QueryDict(request.GET["at"], mutable=True)
    for name in ("find", "line", "from", "withAgentId", "withRunId"):
        if name in request.GET:
            given[name] = request.GET[name]
    return given


def event_address(given: QueryDict, name: str = "eventId") -> str:
    """An event's id. Raises IdError."""
    return checked_id("Event id", given.get(name, ""))


def sha256_address(given: QueryDict) -> str:
    """The hash that names an artifact. Raises IdError."""
    sha256 = given.get("sha256", "").strip()
    if not _SHA256.fullmatch(sha256):
        raise IdError(f"Sha256 must be 64 hexadecimal digits, not {sha256[:40]!r}")
    return sha256


def after_address(given: QueryDict) -> int:
    """How many rows stand before those to show. Raises IdError."""
    after = given.get("after", "0").strip()
    if not (after.isascii() and after.isdigit() and len(after) <= 9):
        raise IdError(f"After must be a whole number, not {after[:40]!r}")
    return checked_index("After", int(after))


def run_query(key: RunKey, **more: object) -> str:
    """The query string that names a run, and what of it is meant: ``event`` and ``after`` as they are called."""
    where = {"agentId": key.agent_id, "runId": key.run_id}
    return urlencode(where | {name: str(value) for name, value in more.items() if value not in (None, "")})
