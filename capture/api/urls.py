"""Where each operation is answered. What is not listed is refused.

The two doors open on the same rooms: ``/internal/agent-capture/`` for programs, ``/api/hosted-agent/`` for staff.
"""

from typing import Final

from django.urls import URLPattern, path, re_path

from capture.api import run_views, views
from capture.api.doors import Handler, key_door, nothing_for_keys, nothing_for_staff, staff_door
from capture.api.operations import Operation

OPERATIONS: Final[tuple[Operation, ...]] = (
    views.hand,
    views.hand_all,
    views.promote,
    views.recent_hands,
    views.turns,
    views.charges,
    views.prompt,
    run_views.run_events,
    run_views.runs,
    run_views.run,
    run_views.keep,
    run_views.artifact,
    run_views.quality,
    views.description,
)
_ANY: Final = r"^(?P<path>.*)$"


def _named(operation: Operation, handler: Handler) -> URLPattern:
    return path(operation.path, handler, name=operation.name)


for_keys: Final = (
    [*(_named(each, key_door(each)) for each in OPERATIONS), re_path(_ANY, nothing_for_keys, name="unknown")],
    "capture",
)
for_staff: Final = (
    [
        *(_named(each, staff_door(each)) for each in OPERATIONS),
        re_path(_ANY, nothing_for_staff, name="unknown"),
    ],
    "capture-staff",
)
