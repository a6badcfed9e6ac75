"""The end of kept runs, by explicit command alone: whole runs, and then the artifacts that no run needs any more."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from capture.limits import PRUNE_BATCH_ROWS, PRUNE_BATCH_RUNS
from capture.models import AgentRun, AgentRunArtifact, AgentRunEvent
from capture.runs.writing import lock_writers


@dataclass(frozen=True, slots=True)
class PrunedRuns:
    """What a pruning deleted, or would delete. A dry run counts no artifacts: others may need them."""

    runs: int = 0
    events: int = 0
    artifacts: int = 0


def prune_runs(
    days: int, *, everything: bool, dry_run: bool, told: Callable[[int], object] = lambda _: None
) -> PrunedRuns:
    """Delete the kept runs to which nothing was added for ``days``: those of a rule, or ``everything``.

    ``told`` hears the runs of each batch.
    """
    old = AgentRun.objects.filter(kept_at__lt=timezone.now() - datetime.timedelta(days=days))
    if not everything:
        old = old.filter(why__startswith="rule: ")
    if dry_run:
        return PrunedRuns(old.count(), AgentRunEvent.objects.filter(run__in=old).count())
    runs = events = artifacts = 0
    while batch := _delete_runs(old):
        runs, events = runs + batch[0], events + batch[1]
        told(batch[0])
    while some := _delete_artifacts():
        artifacts += some
    return PrunedRuns(runs, events, artifacts)


@transaction.atomic
def _delete_runs(old: QuerySet[AgentRun]) -> tuple[int, int] | None:
    """A batch, while nobody writes a run: one of these may be about to go on."""
    lock_writers()
    batch = list(old.values_list("id", flat=True)[:PRUNE_BATCH_RUNS])
    if not batch:
        return None
    deleted = AgentRun.objects.filter(id__in=batch).delete()[1]
    return deleted.get("capture.AgentRun", 0), deleted.get("capture.AgentRunEvent", 0)


@transaction.atomic
def _delete_artifacts() -> int:
    """Artifacts of no run, while nobody writes a run that may be about to need one."""
    lock_writers()
    batch = list(AgentRunArtifact.objects.filter(runs=None).values_list("id", flat=True)[:PRUNE_BATCH_ROWS])
    return AgentRunArtifact.objects.filter(id__in=batch).delete()[0]
