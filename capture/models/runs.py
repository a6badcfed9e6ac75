"""Kept runs: one row a run, one an event, and the artifacts that their events refer to, which runs share."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Now

from capture.limits import ID_LENGTH


class AgentRunArtifact(models.Model):
    """Bytes that events refer to, stored once under the sha256 of what they are uncompressed, ``size`` bytes.

    ``data`` is what the buffer held, a version byte and a zstd frame.
    """

    sha256 = models.CharField(max_length=64, unique=True)
    data = models.BinaryField()
    size = models.BigIntegerField()

    class Meta:
        db_table = "agent_run_artifacts"
        verbose_name = "kept artifact"

    def __str__(self) -> str:
        return f"{self.sha256} ({self.size} bytes)"


class AgentRun(models.Model):
    """A run of which something is kept. All but who kept it and why is made of its events, for lists and filters.

    Texts are cut and made storable: the events have what was recorded. ``counts`` is a packed map of events by kind.
    ``last_arrival`` is the arrival number of the last kept event: what the buffer has beyond it is not kept yet.
    ``kept_bytes`` is what keeping it added, all together, ``kept_at`` when something was added last.
    """

    agent_id = models.CharField(max_length=ID_LENGTH)
    run_id = models.CharField(max_length=ID_LENGTH)
    name = models.CharField(max_length=ID_LENGTH, null=True, blank=True)
    project = models.CharField(max_length=ID_LENGTH, null=True, blank=True)
    service = models.CharField(max_length=ID_LENGTH, null=True, blank=True)
    status = models.CharField(max_length=20)
    began_at = models.DateTimeField()
    last_at = models.DateTimeField()
    lasted_ms = models.BigIntegerField(null=True, blank=True)
    last_arrival = models.BigIntegerField()
    counts = models.BinaryField()
    kinds = ArrayField(models.CharField(max_length=ID_LENGTH), default=list)
    table_id = models.CharField(max_length=ID_LENGTH, null=True, blank=True)
    hand_number = models.BigIntegerField(null=True, blank=True)
    kept_by = models.TextField()
    kept_at = models.DateTimeField(db_default=Now())
    kept_bytes = models.BigIntegerField(default=0)
    why = models.TextField(blank=True)
    artifacts = models.ManyToManyField(
        AgentRunArtifact, related_name="runs", db_table="agent_run_artifact_uses"
    )

    class Meta:
        db_table = "agent_runs"
        verbose_name = "kept run"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent_id", "run_id"], name="agent_runs_run"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["last_at"], name="agent_runs_last"),
            models.Index(fields=["agent_id", "last_at"], name="agent_runs_agent_last"),
            models.Index(fields=["table_id", "hand_number"], name="agent_runs_hand"),
            models.Index(fields=["kept_at"], name="agent_runs_kept"),
            GinIndex(fields=["kinds"], name="agent_runs_kinds"),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.run_id}"


class AgentRunBudget(models.Model):
    """What rules kept in one day, in bytes, so that a day's budget holds whoever keeps, and however many at once."""

    day = models.DateField(primary_key=True)
    spent = models.BigIntegerField(default=0)

    class Meta:
        db_table = "agent_run_budgets"
        verbose_name = "day of runs kept by rule"
        verbose_name_plural = "days of runs kept by rule"

    def __str__(self) -> str:
        return f"{self.day}: {self.spent} bytes"


class AgentRunEvent(models.Model):
    """One kept event, exactly as the buffer held it. ``arrival`` grows in the order of arrival within its run."""

    run = models.ForeignKey(AgentRun, on_delete=models.CASCADE, related_name="events")
    event_id = models.CharField(max_length=ID_LENGTH)
    arrival = models.BigIntegerField()
    kind = models.CharField(max_length=ID_LENGTH)
    data = models.BinaryField()

    class Meta:
        db_table = "agent_run_events"
        verbose_name = "kept event"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "event_id"], name="agent_run_events_event"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.event_id}"
