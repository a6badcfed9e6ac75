"""What an operation is answered with, as OpenAPI says it: its good answer, and every error it can really have."""

from collections.abc import Mapping
from http import HTTPMethod, HTTPStatus
from typing import Final

from capture.api.errors import ApiError
from capture.api.operations import ANYTHING, Operation
from capture.api.schemas.words import SHA256, STRING, Schema, one_of, ref
from capture_sdk.prompt import PromptStatus

OF_EVERYBODY: Final = (400, 401, 403, 405, 500, 503)
OF_BODIES: Final = (413, 415)

_OWN: Final[Mapping[int, tuple[str, ...]]] = {405: ("Allow",), 503: ("Retry-After",)}


def _header(about: str, schema: Schema, *, is_required: bool = True) -> Schema:
    return {"description": about, "required": is_required, "schema": schema}


HEADERS: Final[dict[str, Schema]] = {
    "Allow": _header("The method that is needed.", one_of((HTTPMethod.GET, HTTPMethod.POST))),
    "Retry-After": _header("Seconds after which to ask again.", {"type": "integer", "minimum": 1}),
    "X-Prompt-Sha256": _header("The sha256 that was recorded.", SHA256),
    "X-Prompt-Status": _header("How the bytes compare with it now.", one_of(PromptStatus)),
    "X-Artifact-Sha256": _header("The sha256 of these bytes.", SHA256),
    "ETag": _header("Changes when the answer does: send it as If-None-Match.", STRING),
    "X-Request-Id": _header("What the server's log calls this request.", STRING, is_required=False),
}


def answered(operation: Operation) -> dict[str, Schema]:
    """Each status with what comes with it."""
    statuses = {*OF_EVERYBODY, *operation.statuses, *(OF_BODIES if operation.method == "POST" else ())}
    return {"200": _good(operation)} | {str(status): _further(status) for status in sorted(statuses)}


def refusals() -> dict[str, Schema]:
    """The errors, each described once."""
    kinds: dict[int, list[type[ApiError]]] = {}
    for each in ApiError.__subclasses__():
        kinds.setdefault(int(each.status), []).append(each)
    return {_name(status): _refusal(status, kinds[status]) for status in sorted(kinds)}


def _good(operation: Operation) -> Schema:
    if operation.answer == ANYTHING:
        return {
            "description": "The exact bytes.",
            "headers": _headers(*operation.headers),
            "content": {ANYTHING: {}},
        }
    etag = ("ETag",) if HTTPStatus.NOT_MODIFIED in operation.statuses else ()
    return {
        "description": f"The answer: {operation.answer}.",
        "headers": _headers(*etag),
        "content": {"application/json": {"schema": ref(operation.answer)}},
    }


def _further(status: int) -> Schema:
    if status == HTTPStatus.NOT_MODIFIED:
        return {"description": "It is what the caller has.", "headers": _headers("ETag")}
    return {"$ref": f"#/components/responses/{_name(status)}"}


def _refusal(status: int, kinds: list[type[ApiError]]) -> Schema:
    return {
        "description": " ".join(f"`{each.code}`: {each.__doc__}" for each in kinds),
        "headers": _headers(*_OWN.get(status, ())),
        "content": {"application/json": {"schema": ref("Error")}},
    }


def _headers(*names: str) -> dict[str, Schema]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*names, "X-Request-Id")}


def _name(status: int) -> str:
    return f"Error{status}"
