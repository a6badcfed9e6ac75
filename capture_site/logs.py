"""How log lines look, and what never gets into one.

Each line carries the id of the request that it belongs to, ``-`` outside of one. No line has an address, a body, a
header or the text of an exception, which may quote what was recorded: an exception is told by its type and its
way through the code.
"""

import datetime
import json
import logging
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final

from django.apps import apps
from django.http import HttpRequest
from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

JSON, LINE = "json", "line"
Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

_HIDDEN: Final = "[address]"
_NO_EXTRA: Final = {*RESERVED_ATTRS, "asctime", "message", "request_id"}


def logging_settings(form: str, *, is_quiet: bool, shows_errors: bool) -> dict[str, Any]:
    """Django's LOGGING. ``form`` is json or line; quiet leaves out the line of each request that went well.

    ``shows_errors`` lets the texts of exceptions through, for development alone.
    """
    formatter = "capture_site.logs.Json" if form == JSON else "capture_site.logs.Line"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"request": {"()": "capture_site.logs.RequestFilter"}},
        "formatters": {"chosen": {"()": formatter, "shows_errors": shows_errors}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "chosen", "filters": ["request"]}
        },
        "root": {"handlers": ["console"], "level": "WARNING"},
        "loggers": {
            "capture.requests": {"level": "WARNING" if is_quiet else "INFO"},
            # Without handlers of their own: Django's write addresses, and mail errors with the bodies in them.
            "django": {"handlers": [], "level": "WARNING", "propagate": True},
            "django.request": {"level": "ERROR"},  # a 4xx has its line in capture.requests
            "django.server": {"handlers": [], "level": "CRITICAL", "propagate": True},
        },
    }


class RequestFilter(logging.Filter):
    """Puts the request's id on a record, and takes off what Django and gunicorn say of the request."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let a record pass, changed. One of an answer without an error only repeats the request's own line."""
        if record.name == "django.request" and not record.exc_info:
            return False
        record.request_id = _request_id() or "-"
        request = record.__dict__.pop("request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            path = request.path.encode("unicode_escape").decode("ascii")  # as Django writes it
            record.args = tuple(_HIDDEN if each == path else each for each in record.args)
        elif record.name == "gunicorn.error" and str(record.msg).startswith("Error handling request"):
            record.msg, record.args = "Error handling request", ()
        return True


class Line(logging.Formatter):
    """One line for people: time, level, logger, message, what else is known, the request's id."""

    def __init__(self, *, shows_errors: bool) -> None:
        super().__init__("{asctime} {levelname} {name} {message} [{request_id}]", style="{")
        self._shows_errors = shows_errors

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """UTC, to the millisecond."""
        return _time(record)

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line, with every extra as name=value before the id."""
        extras = {name: value for name, value in record.__dict__.items() if name not in _NO_EXTRA}
        record.message += "".join(f" {name}={_plain(value)}" for name, value in extras.items())
        return super().formatMessage(record)

    def formatException(self, ei: Raised) -> str:
        """The exception by type and way, or whole in development."""
        return super().formatException(ei) if self._shows_errors else _told(ei)


class Json(JsonFormatter):
    """One JSON object a line: time, level, logger, message, request_id, exc_info, and every extra."""

    def __init__(self, *, shows_errors: bool) -> None:
        names = {"asctime": "time", "levelname": "level", "name": "logger"}
        super().__init__(["asctime", "levelname", "name", "message", "request_id"], rename_fields=names)
        self._shows_errors = shows_errors

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """UTC, to the millisecond."""
        return _time(record)

    def formatException(self, ei: Raised) -> str:
        """The exception by type and way, or whole in development."""
        return logging.Formatter.formatException(self, ei) if self._shows_errors else _told(ei)


def _request_id() -> str:
    """The current request's id; before the apps are loaded there is none."""
    if not apps.models_ready:
        return ""
    from capture.access import current_request_id

    return current_request_id.get()


def _time(record: logging.LogRecord) -> str:
    moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value, default=str)


def _told(raised: Raised) -> str:
    """Where each exception of a chain was raised, the first one first, and of which type it is."""
    return "\n".join(
        "".join(["Traceback (most recent call last):\n", *traceback.format_tb(each.__traceback__)])
        + type(each).__qualname__
        for each in reversed(list(_chain(raised[1])))
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
