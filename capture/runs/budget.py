"""What rules may keep in a day, counted in Postgres: it holds whoever keeps, and however many do at once."""

import datetime

from django.utils import timezone

from capture.models import AgentRunBudget


class OverBudget(Exception):
    """The day's budget has no room for what was to be kept; nothing of it was."""


def spend(size: int, most: int) -> None:
    """Count so many bytes as kept today, in the caller's transaction. Raises OverBudget beyond ``most``."""
    if not size:
        return
    AgentRunBudget.objects.get_or_create(day=_today())
    row = AgentRunBudget.objects.select_for_update().get(day=_today())
    if row.spent + size > most:
        raise OverBudget(f"{row.spent} of {most} bytes are spent, and {size} are needed")
    row.spent += size
    row.save()


def spent() -> int:
    """The bytes that rules kept today."""
    row = AgentRunBudget.objects.filter(day=_today()).first()
    return 0 if row is None else row.spent


def _today() -> datetime.date:
    """A day of UTC, so that it is the same for every process."""
    return timezone.now().astimezone(datetime.UTC).date()
