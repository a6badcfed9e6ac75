"""``check``, which also looks at the capture Redis.

Other commands run Django's checks too and must touch no store, so the check of the store is registered
here, when this command is the one that was asked for.
"""

from typing import Any

from django.core import checks
from django.core.management.commands import check

from capture.checks import capture_redis_settings, service_keys_seem_strong


class Command(check.Command):
    def handle(self, *app_labels: Any, **options: Any) -> None:
        checks.register(capture_redis_settings, checks.Tags.caches)
        if not options["deploy"]:  # there it is an error, said once
            checks.register(service_keys_seem_strong, checks.Tags.security)
        super().handle(*app_labels, **options)
