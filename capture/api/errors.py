"""The API's errors: one tree, one JSON shape, mapped in one place.

ApiError
├── BadValue      400  a parameter is missing or not acceptable
├── NoKey         401  no key, or not one of ours
├── NoSession     401  nobody is logged in
├── Forbidden     403  the caller's scope or agents do not allow it
├── NotFound      404  there is nothing of that name
├── NotAllowed    405  another method is needed
├── Gone          410  it was there, and is no longer
├── TooLarge      413  the body is larger than it may be
├── BadEncoding   415  the body is compressed in a way that is not taken
├── Broken        500  a fault of ours, which the log has
├── Damaged       500  what was written reads back different; nothing was kept
└── Unavailable   503  a store does not answer
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar, Final

from django.http import JsonResponse

RETRY_AFTER_SECONDS: Final = "5"


class ApiError(Exception):
    """An answer that is an error. ``message`` is for people, ``fields`` names what was wrong where."""

    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR
    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fields = dict(fields or {})

    def response(self) -> JsonResponse:
        """The one shape of every error."""
        error = {"code": self.code, "message": self.message, "fields": self.fields}
        return JsonResponse({"error": error}, status=self.status, headers=self.headers)

    @property
    def headers(self) -> dict[str, str]:
        """What the answer's head says beside it."""
        return {}


class BadValue(ApiError):
    """A parameter is missing or not acceptable."""

    status = HTTPStatus.BAD_REQUEST
    code = "bad_value"


class NoKey(ApiError):
    """No key, or not one of ours."""

    status = HTTPStatus.UNAUTHORIZED
    code = "no_key"


class NoSession(ApiError):
    """Nobody is logged in."""

    status = HTTPStatus.UNAUTHORIZED
    code = "no_session"


class Forbidden(ApiError):
    """The caller's scope or agents do not allow it."""

    status = HTTPStatus.FORBIDDEN
    code = "forbidden"


class NotFound(ApiError):
    """There is nothing of that name."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class NotAllowed(ApiError):
    """Another method is needed."""

    status = HTTPStatus.METHOD_NOT_ALLOWED
    code = "method_not_allowed"

    def __init__(self, allowed: str, message: str) -> None:
        super().__init__(message)
        self.allowed = allowed

    @property
    def headers(self) -> dict[str, str]:
        return {"Allow": self.allowed}


class Gone(ApiError):
    """It was there, and is no longer."""

    status = HTTPStatus.GONE
    code = "gone"


class TooLarge(ApiError):
    """The body is larger than it may be."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too_large"


class BadEncoding(ApiError):
    """The body is compressed in a way that is not taken."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    code = "bad_encoding"


class Broken(ApiError):
    """A fault of ours, which the log has."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    code = "broken"


class Damaged(ApiError):
    """What was written reads back different; nothing was kept."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    code = "damaged"


class Unavailable(ApiError):
    """A store does not answer."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "store_unavailable"

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": RETRY_AFTER_SECONDS}
