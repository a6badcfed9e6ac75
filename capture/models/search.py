"""Text to search in: derived from what is pinned, and made anew from it at any time."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models import Q

from capture.models.evidence import AgentCallRecord


class AgentSearchText(models.Model):
    """The searchable text of one part of a pinned turn, or of one envelope, which is indexed once per hash.

    Exactly one of ``record`` and ``env_hash`` is set. ``text`` is for searching alone: NUL and half surrogates are
    replaced, and it ends at the limit when ``is_cut``.
    """

    record = models.ForeignKey(AgentCallRecord, null=True, on_delete=models.CASCADE, related_name="texts")
    env_hash = models.CharField(max_length=64, null=True)
    part = models.CharField(max_length=20)
    text = models.TextField()
    is_cut = models.BooleanField()

    class Meta:
        db_table = "agent_search_texts"
        verbose_name = "search text"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["record", "part"], name="agent_search_texts_part"),
            models.UniqueConstraint(fields=["env_hash"], name="agent_search_texts_envelope"),
            models.CheckConstraint(
                condition=Q(record__isnull=True) ^ Q(env_hash__isnull=True), name="agent_search_texts_of_one"
            ),
        ]
        indexes: ClassVar = [
            GinIndex(SearchVector("text", config="simple"), name="agent_search_texts_words"),
        ]

    def __str__(self) -> str:
        return f"{self.part} of {self.env_hash or self.record_id}"
