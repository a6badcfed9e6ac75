"""Who may ask, and who asked: service keys kept in the database, and the access log."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from capture.limits import ID_LENGTH, KEY_NAME_LENGTH


class AgentServiceKey(models.Model):
    """A service key made by command. Only the sha256 of its secret is kept; ``public_id`` finds it.

    ``agents`` is null for a key that is bound to no agent.
    """

    name = models.CharField(max_length=KEY_NAME_LENGTH)
    public_id = models.CharField(max_length=16, unique=True)
    digest = models.BinaryField(max_length=32)
    scopes = ArrayField(models.CharField(max_length=20))
    agents = ArrayField(models.CharField(max_length=ID_LENGTH), null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.TextField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "agent_service_keys"
        verbose_name = "service key"

    def __str__(self) -> str:
        return f"{self.name} ({self.public_id})"


class AccessAction(models.TextChoices):
    """What somebody did with a hand's evidence, or a run's."""

    READ = "read", "read turns"
    PROMPT = "prompt", "opened a prompt"
    DOWNLOAD = "download", "downloaded a part of a turn"
    SEARCH = "search", "searched"
    PIN = "pin", "kept"
    EXPORT = "export", "exported"
    IMPORT = "import", "imported"
    READ_RUN = "read_run", "read a run"
    ARTIFACT = "artifact", "opened an artifact of a run"
    KEEP_RUN = "keep_run", "kept a run"
    IMPORT_RUN = "import_run", "imported a run"


class AgentAccess(models.Model):
    """One line of the access log: who looked at, opened, exported or kept what, and when.

    ``actor`` is ``user:NAME``, ``key:NAME`` or ``command:NAME``. ``agents`` are those whose turns were shown or
    kept; ``action_index`` is null where it was the whole hand. A line about a run has ``run_id`` and no hand.
    """

    at = models.DateTimeField(db_default=Now())
    actor = models.TextField()
    action = models.CharField(max_length=20, choices=AccessAction.choices)
    table_id = models.CharField(max_length=ID_LENGTH, blank=True)
    hand_number = models.BigIntegerField(null=True, blank=True)
    run_id = models.CharField(max_length=ID_LENGTH, blank=True, db_default="")
    agents = ArrayField(models.CharField(max_length=ID_LENGTH))
    action_index = models.BigIntegerField(null=True, blank=True)
    detail = models.TextField(blank=True)
    request_id = models.CharField(max_length=128, blank=True)

    class Meta:
        db_table = "agent_access_log"
        verbose_name = "access"
        verbose_name_plural = "access log"
        indexes: ClassVar = [
            models.Index(fields=["at"], name="agent_access_log_at"),
            models.Index(fields=["table_id", "hand_number"], name="agent_access_log_hand"),
        ]

    def __str__(self) -> str:
        what = self.run_id or f"{self.table_id}:{self.hand_number}"
        return f"{self.actor} {self.action} {what}"
