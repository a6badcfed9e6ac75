"""The way in: method, key, scope and parameters, checked before a view sees the request."""

import functools
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar, cast

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from capture.api.bodies import read_json
from capture.api.errors import (
    ApiError,
    BadValue,
    Damaged,
    Forbidden,
    NoKey,
    NotAllowed,
    Unavailable,
)
from capture.auth import Scope, ServiceKey, find_key
from capture.hands import StoresUnavailable
from capture.limits import COMMAND_BYTES
from capture.pin import PinDamaged
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.records import TurnKey

Value = TypeVar("Value")


class ServiceRequest(HttpRequest):
    """A request whose key has been checked; ``params`` are the query's, or the JSON body's for POST."""

    key: ServiceKey
    params: Mapping[str, object]


class View(Protocol):
    """What an endpoint wraps."""

    def __call__(self, request: ServiceRequest) -> HttpResponse: ...


def endpoint(
    method: str, *scopes: Scope, is_batch: bool = False
) -> Callable[[View], Callable[[HttpRequest], HttpResponse]]:
    """Make a view an endpoint: this method alone, for keys with at least one of ``scopes``.

    A batch reads its own body; every other POST has its parameters there.
    """

    def wrap(view: View) -> Callable[[HttpRequest], HttpResponse]:
        @csrf_exempt
        @functools.wraps(view)
        def checked(request: HttpRequest) -> HttpResponse:
            try:
                return view(_admit(request, method, frozenset(scopes), is_batch=is_batch))
            except ApiError as error:
                return error.response()
            except StoresUnavailable as exc:
                return Unavailable(str(exc)).response()
            except PinDamaged as exc:
                return Damaged(str(exc)).response()

        return checked

    return wrap


def hand_of(request: ServiceRequest) -> tuple[str, int]:
    """``tableId`` and ``handNumber`` of a request. Raises BadValue naming what is wrong with which."""
    return _checked(
        lambda: (checked_id("tableId", _given(request, "tableId")), _index(request, "handNumber")),
        needed=("tableId", "handNumber"),
        request=request,
    )


def agent_of(request: ServiceRequest) -> str:
    """``agentId`` of a request, which the key must cover. Raises BadValue or Forbidden."""
    agent_id = _checked(
        lambda: checked_id("agentId", _given(request, "agentId")), needed=("agentId",), request=request
    )
    if not request.key.covers(agent_id):
        raise Forbidden(
            f"the key {request.key.name!r} is not bound to this agent", fields={"agentId": "not yours"}
        )
    return agent_id


def turn_of(request: ServiceRequest) -> TurnKey:
    """All four parts of a turn's key. Raises BadValue or Forbidden."""
    table_id, hand_number = hand_of(request)
    index = _checked(lambda: _index(request, "actionIndex"), needed=("actionIndex",), request=request)
    return TurnKey(table_id, hand_number, agent_of(request), index)


def number_of(request: ServiceRequest, name: str, *, default: int | None, most: int) -> int | None:
    """An optional whole number from 1 to ``most``. Raises BadValue."""
    if _given(request, name) in (None, ""):
        return default
    number = _checked(lambda: _index(request, name), needed=(name,), request=request)
    if not 1 <= number <= most:
        raise BadValue(f"{name} must lie between 1 and {most}", fields={name: str(number)})
    return number


def _admit(request: HttpRequest, method: str, scopes: frozenset[Scope], *, is_batch: bool) -> ServiceRequest:
    key = find_key(request.headers.get("X-Service-Key", ""))
    if key is None:
        raise NoKey("a valid key is needed in the header X-Service-Key")
    if request.method != method and not (method == "GET" and request.method == "HEAD"):
        raise NotAllowed(f"{request.method} is not allowed here; use {method}")
    if not key.scopes & scopes:
        needed = " or ".join(sorted(scopes)) or "another scope"
        raise Forbidden(f"the key {key.name!r} lacks the scope {needed}")
    admitted = cast(ServiceRequest, request)
    admitted.key = key
    if method == "POST":
        admitted.params = {} if is_batch else read_json(request, COMMAND_BYTES)
    else:
        admitted.params = request.GET.dict()
    return admitted


def _given(request: ServiceRequest, name: str) -> object:
    return request.params.get(name)


def _index(request: ServiceRequest, name: str) -> int:
    given = _given(request, name)
    if isinstance(given, str):
        if not (given.isascii() and given.isdigit() and len(given) <= 19):
            raise IdError(f"{name} must be an integer from 0 to 2**63 - 1")
        given = int(given)
    return checked_index(name, given)


def _checked(read: Callable[[], Value], *, needed: tuple[str, ...], request: ServiceRequest) -> Value:
    missing = [name for name in needed if _given(request, name) in (None, "")]
    if missing:
        raise BadValue(f"{', '.join(missing)} must be given", fields=dict.fromkeys(missing, "missing"))
    try:
        return read()
    except IdError as exc:
        name = str(exc).partition(" ")[0]
        raise BadValue(str(exc), fields={name: "not acceptable"}) from exc
