"""Where the rooms are mounted."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

from capture import health
from capture.api import urls as api


def favicon(request: HttpRequest) -> HttpResponse:
    """Browsers ask for it by this name; the file's own name has a hash in it."""
    return redirect(static("viewer/icon.svg"))


handler400 = "capture.api.handlers.bad_request"
handler500 = "capture.api.handlers.server_error"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="viewer:recent")),
    path("favicon.ico", favicon),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("admin/", admin.site.urls),
    path("agent-capture/", include("viewer.urls")),
    path("internal/agent-capture/", include(api.for_keys)),
    path("api/hosted-agent/", include(api.for_staff)),
]
