"""The description of the API as OpenAPI 3.1: made from the operations and the schemas, never written by hand.

One document describes both doors. Its two servers are relative to where it was fetched, so it is also true below
another path.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from capture.api import answering, asking
from capture.api.operations import Operation
from capture.api.schemas import SCHEMAS, Schema
from capture.auth import Scope
from capture_sdk._version import __version__

OPENAPI: Final = "3.1.1"
# From below either door, each leads to the same address, which ends without a slash as a server's should.
SERVERS: Final = (
    ("../../internal/agent-capture", "For programs, with a service key."),
    ("../../api/hosted-agent", "For members of staff, with a session."),
)
FOR_PEOPLE: Final = frozenset(Scope) - {Scope.INGEST}  # nobody ingests by hand

_ABOUT: Final = """\
What hosted agents knew, were told, answered and sent, turn by turn.

JSON is camelCase. **Null is not empty**: null was not captured, an empty value was captured and is empty. What agents
recorded is any JSON; what JSON cannot hold has a form of one key that begins with `$`. Whatever answers GET answers
HEAD, without a body. A parameter that is unknown, or given twice, is refused.
"""


@dataclass(frozen=True, slots=True)
class Written:
    """The document as it is sent, and its ETag."""

    body: bytes
    etag: str


@functools.cache
def written() -> Written:
    """The document of this process, made once."""
    from capture.api.urls import OPERATIONS  # one of them answers with what is made here

    body = json.dumps(document(OPERATIONS), ensure_ascii=False, separators=(",", ":")).encode()
    return Written(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def document(operations: Sequence[Operation]) -> Schema:
    """The description of these operations."""
    return {
        "openapi": OPENAPI,
        "info": {"title": "Agent Decision Capture", "version": __version__, "description": _ABOUT},
        "servers": [{"url": url, "description": about} for url, about in SERVERS],
        "paths": _paths(operations),
        "components": {
            "schemas": SCHEMAS,
            "responses": answering.refusals(),
            "headers": answering.HEADERS,
            "securitySchemes": _security_schemes(),
        },
    }


def operation_id(operation: Operation) -> str:
    """What a generated client calls it: ``recent-hands`` is ``recentHands``, ``run/keep`` is ``runKeep``."""
    return re.sub(r"[^a-zA-Z0-9]+(\w)", lambda match: match[1].upper(), operation.path)


def _paths(operations: Iterable[Operation]) -> dict[str, Schema]:
    paths: dict[str, Schema] = {}
    for each in operations:
        paths.setdefault(f"/{each.path}", {})[each.method.lower()] = _described(each)
    return paths


def _described(operation: Operation) -> Schema:
    return {
        "operationId": operation_id(operation),
        "summary": operation.about.partition("\n")[0],
        "description": _who(operation),
        "x-scopes": sorted(operation.scopes),
        "security": _security(operation),
        **asking.asked(operation),
        "responses": answering.answered(operation),
    }


def _who(operation: Operation) -> str:
    """Who may ask, as text."""
    if operation.is_for_everybody:
        return "Needs any valid key or session, whatever its scope."
    needed = f"Needs the scope {' or '.join(f'`{scope}`' for scope in sorted(operation.scopes))}."
    if operation.may_name_agent:
        return (
            f"{needed} Without agentId it shows every agent's: that needs `read-all`, and a key that is bound to "
            "agents is refused."
        )
    if operation.is_of_every_agent:
        return f"{needed} A key that is bound to agents is refused."
    return f"{needed} A key that is bound to agents acts for its own alone."


def _security(operation: Operation) -> list[dict[str, list[str]]]:
    """The ways in: a key, or a session with the proof that every POST needs."""
    ways: list[dict[str, list[str]]] = [{"serviceKey": []}]
    if operation.scopes & FOR_PEOPLE:
        proof: dict[str, list[str]] = {"csrfToken": []} if operation.method == "POST" else {}
        ways.append({"staffSession": []} | proof)
    return ways


def _security_schemes() -> dict[str, Schema]:
    return {
        "serviceKey": {"type": "apiKey", "in": "header", "name": "X-Service-Key"},
        "staffSession": {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME},
        "csrfToken": {
            "type": "apiKey",
            "in": "header",
            "name": "X-CSRFToken",
            "description": f"The value of the cookie {settings.CSRF_COOKIE_NAME}.",
        },
    }
