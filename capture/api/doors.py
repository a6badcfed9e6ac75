"""The two doors of the API: one for programs with a service key, one for staff with a session.

Both admit in the same order: who calls, by which method, with which scope, with which parameters, for which agent.
A view sees a request only after that.
"""

from collections.abc import Callable
from typing import cast

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from capture.api.bodies import read_json
from capture.api.errors import (
    ApiError,
    BadValue,
    Damaged,
    Forbidden,
    NoKey,
    NoSession,
    NotAllowed,
    NotFound,
    Unavailable,
)
from capture.api.operations import ApiRequest, Operation, agent_of
from capture.api.parameters import Parameter
from capture.auth import Caller, KeysUnavailable, Scope, caller_of_key, caller_of_user
from capture.hands import StoresUnavailable
from capture.limits import COMMAND_BYTES
from capture.pins.pin import PinDamaged
from capture_sdk.errors import IdError

Handler = Callable[[HttpRequest], HttpResponse]


def key_door(operation: Operation) -> Handler:
    """The operation for programs: the header ``X-Service-Key``. No cookie counts here, so CSRF has no hold."""

    @csrf_exempt
    def answer(request: HttpRequest) -> HttpResponse:
        return _answer(request, operation, _caller_with_key)

    return answer


def staff_door(operation: Operation) -> Handler:
    """The operation for people who are logged in; Django's CSRF check stands before every POST."""

    def answer(request: HttpRequest) -> HttpResponse:
        return _answer(request, operation, _caller_with_session)

    return answer


@csrf_exempt
def nothing_for_keys(request: HttpRequest, path: str = "") -> HttpResponse:
    """Whatever else is asked for below the API's path: refused without a key, else not found."""
    return _nothing(request, path, _caller_with_key)


def nothing_for_staff(request: HttpRequest, path: str = "") -> HttpResponse:
    """The same for sessions."""
    return _nothing(request, path, _caller_with_session)


def _nothing(request: HttpRequest, path: str, who: Callable[[HttpRequest], Caller]) -> HttpResponse:
    try:
        who(request)
    except ApiError as error:
        return error.response()
    return NotFound(f"there is no endpoint {path[:200]!r}").response()


def _answer(request: HttpRequest, operation: Operation, who: Callable[[HttpRequest], Caller]) -> HttpResponse:
    try:
        return operation.view(_admit(request, operation, who(request)))
    except ApiError as error:
        return error.response()
    except StoresUnavailable as exc:
        return Unavailable(str(exc)).response()
    except PinDamaged as exc:
        return Damaged(str(exc)).response()


def _caller_with_key(request: HttpRequest) -> Caller:
    try:
        caller = caller_of_key(request.headers.get("X-Service-Key", ""))
    except KeysUnavailable as exc:
        raise Unavailable(str(exc)) from exc
    if caller is None:
        raise NoKey("a valid key is needed in the header X-Service-Key")
    return caller


def _caller_with_session(request: HttpRequest) -> Caller:
    try:
        return _staff(request)
    except (OperationalError, InterfaceError) as exc:
        raise Unavailable("the database does not answer, so this session cannot be checked") from exc


def _staff(request: HttpRequest) -> Caller:
    if not request.user.is_authenticated:
        raise NoSession("a staff session is needed: log in at the admin")
    caller = caller_of_user(request.user)
    if caller is None:
        raise Forbidden("this is for members of staff")
    return caller


def _admit(request: HttpRequest, operation: Operation, caller: Caller) -> ApiRequest:
    if request.method != operation.method and not (operation.method == "GET" and request.method == "HEAD"):
        raise NotAllowed(operation.method, f"{request.method} is not allowed here; use {operation.method}")
    if not (operation.is_for_everybody or caller.scopes & operation.scopes):
        raise Forbidden(f"{caller.actor} lacks the scope {' or '.join(sorted(operation.scopes))}")
    if operation.is_of_every_agent and caller.agents is not None:
        raise Forbidden(f"{caller.actor} is bound to its agents, and this shows every agent's")
    admitted = cast(ApiRequest, request)
    admitted.caller = caller
    admitted.given = (
        {} if operation.batch is not None else _read(operation.parameters, _raw(request, operation))
    )
    if operation.may_name_agent and "agentId" not in admitted.given:
        _admit_to_all(caller)
    if "agentId" in admitted.given and not caller.covers(agent_of(admitted)):
        raise Forbidden(f"{caller.actor} is not bound to this agent", fields={"agentId": "not yours"})
    return admitted


def _admit_to_all(caller: Caller) -> None:
    """Where no agent is named, everything is shown."""
    if Scope.READ_ALL not in caller.scopes or caller.agents is not None:
        raise Forbidden(f"{caller.actor} may not see every agent's: name one", fields={"agentId": "missing"})


def _raw(request: HttpRequest, operation: Operation) -> dict[str, object]:
    """The parameters as they were given: in the query, or in a command's body. One given twice is none."""
    if operation.method == "POST":
        return read_json(request, COMMAND_BYTES)
    twice = [name for name, values in request.GET.lists() if len(values) > 1]
    if twice:
        raise BadValue(f"{twice[0][:40]!r} is given more than once", fields={twice[0][:40]: "given twice"})
    return dict(request.GET.items())


def _read(parameters: tuple[Parameter, ...], raw: dict[str, object]) -> dict[str, object]:
    given = {name: value for name, value in raw.items() if value not in (None, "")}
    known = {each.name: each for each in parameters}
    missing = [each.name for each in parameters if each.is_required and each.name not in given]
    if missing:
        raise BadValue(f"{', '.join(missing)} must be given", fields=dict.fromkeys(missing, "missing"))
    if unknown := [name[:40] for name in raw if name not in known]:
        taken = ", ".join(known) or "none"
        raise BadValue(f"{unknown[0]!r} is no parameter here: {taken}", fields={unknown[0]: "unknown"})
    return {name: _one(known[name], value) for name, value in given.items()}


def _one(parameter: Parameter, value: object) -> object:
    try:
        return parameter.read(parameter.name, value)
    except IdError as exc:
        raise BadValue(str(exc), fields={parameter.name: "not acceptable"}) from exc
