"""The staff pages at /agent-capture."""

from django.apps import AppConfig


class ViewerConfig(AppConfig):
    name = "viewer"
    verbose_name = "Agent capture viewer"
