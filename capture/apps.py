"""The server side of agent decision capture: reads, pins, ledger and API."""

from django.apps import AppConfig


class CaptureConfig(AppConfig):
    name = "capture"
    verbose_name = "Agent capture"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from capture import checks  # noqa: F401 - registers the system checks
