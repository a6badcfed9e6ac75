"""What every page gets: a content policy under which nothing recorded can act, and an honest 503."""

from collections.abc import Callable
from typing import Final

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from capture.hands import StoresUnavailable

Handler = Callable[[HttpRequest], HttpResponse]

# Recorded text is hostile: no script, style, image, frame or request but our own files, and no inline ones.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


class ContentPolicyMiddleware:
    """Sets the Content-Security-Policy of every answer that has none."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", _POLICY)
        return response


class StoreDownMiddleware:
    """Answers with a page that says so when a store a page cannot do without is down."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The page uses neither session nor user: both live in the store that is down."""
        if not isinstance(exception, OperationalError | InterfaceError | StoresUnavailable):
            return None
        return HttpResponse(
            render_to_string("viewer/unavailable.html"), status=503, headers={"Retry-After": "5"}
        )
