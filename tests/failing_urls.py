"""A site with one page, which fails with everything that it was sent in its error."""

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt
def fail(request: HttpRequest, place: str) -> HttpResponse:
    """Never answers."""
    sent = f"{place} {request.GET} {request.headers} {request.body!r}"
    try:
        raise KeyError(sent)
    except KeyError as exc:
        raise ValueError(sent) from exc


urlpatterns = [path("<place>", fail, name="fail")]
