"""What a load balancer and Prometheus ask: alive, ready, measured. No answer names an address or a password."""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from capture import metrics as figures
from capture import stores
from capture.api.doors import key_door
from capture.api.operations import ApiRequest, operation
from capture.auth import Scope
from capture.limits import STORE_ANSWER_SECONDS
from capture.stores import StoreSilent, begin

OK: Final = "ok"


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process lives. It asks no store, so that no store's trouble restarts it."""
    return _fresh(JsonResponse({"status": "alive"}))


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Whether both stores answer and every migration is applied: 200, or 503 with what is not so."""
    checks = _checks()
    is_ready = all(state == OK for state in checks.values())
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return _fresh(
        JsonResponse({"status": "ready" if is_ready else "not_ready", "checks": checks}, status=status)
    )


@operation("GET", "metrics", Scope.READ_ALL, answer=CONTENT_TYPE_LATEST)
def _metrics(request: ApiRequest) -> HttpResponse:
    """Every figure, for Prometheus."""
    return _fresh(HttpResponse(figures.exposition(), content_type=CONTENT_TYPE_LATEST))


metrics: Final = key_door(_metrics)


def _checks() -> dict[str, str]:
    """Both stores are asked at one time, so that an answer comes within the patience of one."""
    until = time.monotonic() + STORE_ANSWER_SECONDS
    durable, migrations = OK, "unknown"
    try:
        buffer_answer, postgres_answer = begin(stores.redis_answers), begin(stores.missing_migrations)
    except StoreSilent as exc:
        return {"buffer": exc.why.value, "durable": exc.why.value, "migrations": migrations}
    try:
        migrations = "missing" if postgres_answer(until - time.monotonic()) else OK
    except StoreSilent as exc:
        durable = exc.why.value
    return {"buffer": _state(buffer_answer, until), "durable": durable, "migrations": migrations}


def _state(answer: Callable[[float], None], until: float) -> str:
    try:
        answer(until - time.monotonic())
    except StoreSilent as exc:
        return exc.why.value
    return OK


def _fresh(response: HttpResponse) -> HttpResponse:
    response.headers["Cache-Control"] = "no-store"
    return response
