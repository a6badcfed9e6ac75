"""The inference ledger, and one row a hand over it."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, GinIndex
from django.db import models
from django.db.models import ExpressionWrapper, Q

from capture.limits import ID_LENGTH


class AgentInferenceCharge(models.Model):
    """One row of the ledger: a turn's inference, real or fallback. Unknown tokens and costs are null.

    ``cost_micros`` counts millionths of the currency, ``latency_ms`` the wait for the model, all attempts together;
    it is null too in rows from before it was kept. ``amount`` is the JSON form of the amount as the
    agent took it, so that a fraction or a very large number stays what it was. ``usage`` is the
    provider's own usage object, frozen.
    """

    table_id = models.CharField(max_length=ID_LENGTH)
    hand_number = models.BigIntegerField()
    agent_id = models.CharField(max_length=ID_LENGTH)
    action_index = models.BigIntegerField()
    agent_version_id = models.TextField(null=True, blank=True)
    model = models.TextField(null=True, blank=True)
    provider = models.TextField(null=True, blank=True)
    input_tokens = models.BigIntegerField(null=True, blank=True)
    cached_tokens = models.BigIntegerField(null=True, blank=True)
    cache_write_tokens = models.BigIntegerField(null=True, blank=True)
    output_tokens = models.BigIntegerField(null=True, blank=True)
    reasoning_tokens = models.BigIntegerField(null=True, blank=True)
    cost_micros = models.BigIntegerField(null=True, blank=True)
    attempts = models.IntegerField()
    is_fallback = models.BooleanField()
    fallback_reason = models.TextField(null=True, blank=True)
    is_clamped = models.BooleanField()
    is_redacted = models.BooleanField()
    action = models.TextField(null=True, blank=True)
    amount = models.TextField(null=True, blank=True)
    usage = models.BinaryField(null=True, blank=True)
    charged_at = models.DateTimeField()
    latency_ms = models.IntegerField(null=True, blank=True)

    class Meta:
        db_table = "agent_inference_charges"
        verbose_name = "inference charge"
        constraints: ClassVar = [
            # Serves a hand's rows too: it begins with table and hand.
            models.UniqueConstraint(
                fields=["table_id", "hand_number", "agent_id", "action_index"],
                name="agent_inference_charges_turn",
            ),
        ]
        # Charges are written about in the order of their times: a few pages say where a day's rows stand. Several
        # spans a range, since hands that are imported bring old times among new ones.
        indexes: ClassVar = [
            BrinIndex(
                fields=["charged_at"],
                opclasses=["timestamptz_minmax_multi_ops"],
                name="agent_inference_charges_time",
                autosummarize=True,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.table_id}:{self.hand_number} {self.agent_id} #{self.action_index}"


def _any_of(column: str) -> models.GeneratedField:
    """Whether the count is more than none: changes once in a hand's life, unlike the count, and so is indexed."""
    flag = models.BooleanField()
    is_any = ExpressionWrapper(Q((f"{column}__gt", 0)), output_field=flag)
    return models.GeneratedField(expression=is_any, output_field=flag, db_persist=True)


class AgentHand(models.Model):
    """One hand as the ledger knows it, kept by the ledger's writer in the same transaction.

    ``id`` is that of the hand's first ledger row. Recent hands walk this table by it, newest first: it never
    changes, so walking the pages yields each hand once while new turns arrive. ``capture.ledger.rebuild_hands``
    makes the rows anew. Whatever recent hands are filtered by stands here too: models and versions are those of its
    charges, cut to an id's length.
    """

    id = models.BigIntegerField(primary_key=True)
    table_id = models.CharField(max_length=ID_LENGTH)
    hand_number = models.BigIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    agents = ArrayField(models.CharField(max_length=ID_LENGTH))
    model_names = ArrayField(models.CharField(max_length=ID_LENGTH), default=list)
    agent_version_ids = ArrayField(models.CharField(max_length=ID_LENGTH), default=list)
    turns = models.BigIntegerField()
    fallbacks = models.BigIntegerField()
    clamped = models.BigIntegerField()
    redacted = models.BigIntegerField()
    cost_micros = models.BigIntegerField(null=True, blank=True)
    has_fallbacks = _any_of("fallbacks")
    has_clamped = _any_of("clamped")
    has_redacted = _any_of("redacted")

    class Meta:
        db_table = "agent_hands"
        verbose_name = "hand"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["table_id", "hand_number"], name="agent_hands_hand"),
        ]
        # No index on what every turn changes (last_at, the sums): its updates stay within their page.
        indexes: ClassVar = [
            GinIndex(fields=["agents", "model_names", "agent_version_ids"], name="agent_hands_names"),
            models.Index(fields=["first_at"], name="agent_hands_first_at"),
            # In the order of the walk, so that hands of another time or table cost no visit to their rows.
            models.Index(fields=["id", "first_at"], name="agent_hands_walk"),
            models.Index(fields=["table_id", "id"], name="agent_hands_table"),
            models.Index(fields=["id"], condition=Q(has_fallbacks=True), name="agent_hands_fallbacks"),
            models.Index(fields=["id"], condition=Q(has_clamped=True), name="agent_hands_clamped"),
            models.Index(fields=["id"], condition=Q(has_redacted=True), name="agent_hands_redacted"),
        ]

    def __str__(self) -> str:
        return f"{self.table_id}:{self.hand_number}"
