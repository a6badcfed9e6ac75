"""Where the API is mounted: /internal/agent-capture/. What is not listed is refused."""

from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt

from capture.api import views

app_name = "capture"

urlpatterns = [
    path("hand", views.hand, name="hand"),
    path("hand-all", views.hand_all, name="hand-all"),
    path("promote", views.promote, name="promote"),
    path("recent-hands", views.recent_hands, name="recent-hands"),
    path("turns", views.turns, name="turns"),
    path("charges", views.charges, name="charges"),
    path("prompt", views.prompt, name="prompt"),
    re_path(r"^(?P<path>.*)$", csrf_exempt(views.unknown), name="unknown"),
]
