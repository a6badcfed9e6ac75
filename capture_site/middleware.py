"""What happens around every request: it has an id, is timed, and leaves one line in the log."""

import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils.functional import LazyObject, empty

from capture import metrics
from capture.access import current_request_id
from capture.auth import actor_of_user
from capture.limits import REQUEST_ID_LENGTH

_log = logging.getLogger("capture.requests")
_ACCEPTABLE: Final = re.compile(rf"[A-Za-z0-9._:-]{{1,{REQUEST_ID_LENGTH}}}")


class RequestIdMiddleware:
    """The outermost one: every answer has an ``X-Request-Id``, also one that no view gave.

    A caller's own id is taken over where it is acceptable, so that its log and ours can be read together.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _ACCEPTABLE.fullmatch(given) else uuid.uuid4().hex
        token = current_request_id.set(request_id)
        try:
            response = self.get_response(request)
            response.headers["X-Request-Id"] = request_id
            return response
        finally:
            current_request_id.reset(token)


class RequestLogMiddleware:
    """Times a request and writes its line: never its address, query, body, headers or key."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        start = time.perf_counter()
        response = self.get_response(request)
        seconds = time.perf_counter() - start
        route, method = _route(request), metrics.known_method(request.method)
        metrics.time_request(route, method, response.status_code, seconds)
        line = {
            "method": method,
            "route": route,
            "status": response.status_code,
            "ms": round(seconds * 1000, 1),
        }
        line |= _actor(request)
        _log.log(logging.WARNING if response.status_code >= 500 else logging.INFO, "request", extra=line)
        return response


def _route(request: HttpRequest) -> str:
    """The name of the route that answered; a static file, a redirect or nothing at all has none."""
    match = request.resolver_match
    return match.view_name if match is not None else "none"


def _actor(request: HttpRequest) -> dict[str, str]:
    """The key's or the user's name, where somebody has asked for it: a session is not read for a log line."""
    caller, user = getattr(request, "caller", None), getattr(request, "user", None)
    if caller is not None:
        return {"actor": caller.actor}
    is_read = not isinstance(user, LazyObject) or user.__dict__["_wrapped"] is not empty
    if user is None or not is_read or not user.is_authenticated:
        return {}
    return {"actor": actor_of_user(user)}
