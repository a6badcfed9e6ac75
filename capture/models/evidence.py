"""Pinned turns, and the envelopes and dictionaries that they need.

Captured content is kept as bytes, never as text or jsonb: text refuses NUL and half surrogates, jsonb
reorders keys and rounds numbers. ``docs/decisions/`` has the reasons at length.
"""

from __future__ import annotations

from typing import ClassVar, Self, TypeVar

from django.db import models
from django.db.models.functions import Now

from capture.limits import ID_LENGTH

Row = TypeVar("Row", bound=models.Model)


class HandQuerySet(models.QuerySet[Row]):
    """Rows that belong to a hand."""

    def of_agent(self, table_id: str, hand_number: int, agent_id: str) -> Self:
        """One agent's rows of one hand."""
        return self.filter(table_id=table_id, hand_number=hand_number, agent_id=agent_id)


class AgentCallRecord(models.Model):
    """A pinned turn. ``record`` is the captured record exactly as the buffer held it; the rest finds it.

    It may need one of the hand's ``AgentCallDictionary`` rows: ``capture.pins.reading`` puts both together.

    Unique on table, hand, agent and action index: two agents can share an action index.
    """

    table_id = models.CharField(max_length=ID_LENGTH)
    hand_number = models.BigIntegerField()
    agent_id = models.CharField(max_length=ID_LENGTH)
    action_index = models.BigIntegerField()
    agent_version_id = models.TextField(null=True, blank=True)
    model = models.TextField(null=True, blank=True)
    provider = models.TextField(null=True, blank=True)
    is_clamped = models.BooleanField()
    env_hash = models.CharField(max_length=64, null=True, blank=True)
    prompt_sha256 = models.CharField(max_length=64, null=True, blank=True)
    record = models.BinaryField()
    captured_at = models.DateTimeField()
    pinned_at = models.DateTimeField(db_default=Now())
    pinned_by = models.TextField()

    objects = HandQuerySet["AgentCallRecord"].as_manager()

    class Meta:
        db_table = "agent_call_records"
        verbose_name = "pinned turn"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["table_id", "hand_number", "agent_id", "action_index"], name="agent_call_records_turn"
            ),
        ]
        permissions: ClassVar = [("pin_hand", "Can keep a hand")]

    def __str__(self) -> str:
        return f"{self.table_id}:{self.hand_number} {self.agent_id} #{self.action_index}"


class AgentCallDictionary(models.Model):
    """A zstd dictionary that pinned records of one hand and agent need, stored with them as the buffer had it."""

    table_id = models.CharField(max_length=ID_LENGTH)
    hand_number = models.BigIntegerField()
    agent_id = models.CharField(max_length=ID_LENGTH)
    dict_hash = models.CharField(max_length=32)
    body = models.BinaryField()

    objects = HandQuerySet["AgentCallDictionary"].as_manager()

    class Meta:
        db_table = "agent_call_dictionaries"
        verbose_name = "pinned dictionary"
        verbose_name_plural = "pinned dictionaries"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["table_id", "hand_number", "agent_id", "dict_hash"],
                name="agent_call_dictionaries_hash",
            ),
        ]

    def __str__(self) -> str:
        return self.dict_hash


class AgentCallEnvelope(models.Model):
    """An envelope of a pinned hand, stored with it once per hand, agent and hash.

    No pinned hand depends on another's rows or on Redis. ``body`` is a zstd frame; ``size`` is the
    number of bytes of the envelope itself.
    """

    table_id = models.CharField(max_length=ID_LENGTH)
    hand_number = models.BigIntegerField()
    agent_id = models.CharField(max_length=ID_LENGTH)
    env_hash = models.CharField(max_length=64)
    body = models.BinaryField()
    size = models.BigIntegerField()

    objects = HandQuerySet["AgentCallEnvelope"].as_manager()

    class Meta:
        db_table = "agent_call_envelopes"
        verbose_name = "pinned envelope"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["table_id", "hand_number", "agent_id", "env_hash"], name="agent_call_envelopes_hash"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.env_hash} ({self.size} bytes)"
