"""What people say of turns: which of the three went wrong. One row a saying; nothing is ever changed."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from capture.limits import ID_LENGTH
from capture.models.evidence import HandQuerySet


class VerdictKind(models.TextChoices):
    """What was wrong with a turn, if anything."""

    STRATEGY = "strategy", "strategy"
    MEMORY = "memory", "memory"
    CLAMP = "clamp", "clamp"
    FINE = "fine", "fine"


class AgentVerdict(models.Model):
    """One person's verdict on a turn. A person's latest row on a turn is the one that holds; the others are history.

    It stands by itself: it stays when the turn expires or is deleted. ``by`` is the person's user name.
    """

    table_id = models.CharField(max_length=ID_LENGTH)
    hand_number = models.BigIntegerField()
    agent_id = models.CharField(max_length=ID_LENGTH)
    action_index = models.BigIntegerField()
    verdict = models.CharField(max_length=20, choices=VerdictKind.choices)
    note = models.TextField(blank=True)
    by = models.TextField()
    at = models.DateTimeField(db_default=Now())

    objects = HandQuerySet["AgentVerdict"].as_manager()

    class Meta:
        db_table = "agent_verdicts"
        verbose_name = "verdict"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(verdict__in=VerdictKind.values), name="agent_verdicts_known"
            ),
        ]
        indexes: ClassVar = [
            # A hand's rows, and whether a person said something later of the same turn.
            models.Index(
                fields=["table_id", "hand_number", "agent_id", "action_index", "by", "id"],
                name="agent_verdicts_turn",
            ),
            models.Index(fields=["agent_id", "id"], name="agent_verdicts_agent"),
            models.Index(fields=["by", "id"], name="agent_verdicts_by"),
            models.Index(fields=["verdict", "id"], name="agent_verdicts_verdict"),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.by}: {self.table_id}:{self.hand_number} {self.agent_id} #{self.action_index}"
