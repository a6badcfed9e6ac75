"""Where the rooms are mounted."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="viewer:recent")),
    path("admin/", admin.site.urls),
    path("agent-capture/", include("viewer.urls")),
    path("internal/agent-capture/", include("capture.urls")),
]
