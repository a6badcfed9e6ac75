"""Django's own refusals, in the API's one shape where it was the API that was asked."""

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views import csrf, defaults

from capture.access import current_request_id
from capture.api.errors import BadValue, Broken, Forbidden

ROOTS: Final = ("/internal/agent-capture/", "/api/hosted-agent/")


def is_api(request: HttpRequest) -> bool:
    """Whether it is the API that was asked."""
    return request.path_info.startswith(ROOTS)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that Django itself does not take: a host that is not ours, say."""
    if is_api(request):
        return BadValue(f"the request is not acceptable: {type(exception).__name__}").response()
    return defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """A fault of ours. What it was is in the log alone, under the request's id."""
    if is_api(request):
        return Broken(
            f"this is a fault of the server; its log knows it as {current_request_id.get()!r}"
        ).response()
    return defaults.server_error(request)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A POST with a session that does not prove that one of our pages sent it."""
    if is_api(request):
        return Forbidden(
            f"{reason or 'the CSRF token is missing'}: send the cookie's token as X-CSRFToken"
        ).response()
    return csrf.csrf_failure(request, reason=reason)
