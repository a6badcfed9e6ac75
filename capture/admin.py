"""The tables in Django's admin, to look at: nothing here is changed by hand, and no content is shown."""

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from capture.models import (
    AgentAccess,
    AgentCallRecord,
    AgentHand,
    AgentInferenceCharge,
    AgentRun,
    AgentServiceKey,
    AgentVerdict,
)

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Model]
else:  # the class is generic in its stubs alone
    ModelAdmin = admin.ModelAdmin


class ReadOnly(ModelAdmin):
    """Look, do not touch."""

    show_full_result_count = False  # counting 100 M ledger rows is not what anybody came for

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(AgentCallRecord)
class RecordAdmin(ReadOnly):
    list_display = [
        "table_id",
        "hand_number",
        "agent_id",
        "action_index",
        "agent_version_id",
        "pinned_at",
        "pinned_by",
    ]
    exclude = ["record"]
    ordering = ["-id"]


@admin.register(AgentInferenceCharge)
class ChargeAdmin(ReadOnly):
    list_display = [
        "table_id",
        "hand_number",
        "agent_id",
        "action_index",
        "is_fallback",
        "cost_micros",
        "charged_at",
    ]
    exclude = ["usage"]
    ordering = ["-id"]


@admin.register(AgentHand)
class HandAdmin(ReadOnly):
    list_display = ["table_id", "hand_number", "turns", "fallbacks", "clamped", "cost_micros", "last_at"]
    ordering = ["-id"]


@admin.register(AgentRun)
class RunAdmin(ReadOnly):
    list_display = ["agent_id", "run_id", "status", "last_at", "kept_at", "kept_by", "why"]
    list_filter = ["status", "kept_at"]
    search_fields = ["agent_id__exact", "run_id__exact"]
    search_help_text = "an agent's or a run's id, written whole"
    exclude = ["counts", "artifacts"]
    ordering = ["-id"]


@admin.register(AgentAccess)
class AccessAdmin(ReadOnly):
    list_display = [
        "at",
        "actor",
        "action",
        "table_id",
        "hand_number",
        "run_id",
        "agents",
        "action_index",
        "detail",
    ]
    list_filter = ["action", "at"]
    search_fields = ["actor__exact", "table_id__exact", "run_id__exact", "request_id__exact"]
    search_help_text = "an actor (key:NAME, user:NAME), a table's, a run's or a request's id, written whole"
    ordering = ["-id"]


@admin.register(AgentServiceKey)
class KeyAdmin(ReadOnly):
    list_display = [
        "name",
        "public_id",
        "scopes",
        "agents",
        "created_at",
        "last_used_at",
        "expires_at",
        "revoked_at",
    ]
    exclude = ["digest"]
    ordering = ["name", "id"]


@admin.register(AgentVerdict)
class VerdictAdmin(ReadOnly):
    """Without the notes: any text may stand in them, and only the staff pages show such."""

    list_display = ["at", "by", "verdict", "table_id", "hand_number", "agent_id", "action_index"]
    list_filter = ["verdict", "at"]
    exclude = ["note"]
    ordering = ["-id"]


admin.site.site_header = "Agent Decision Capture"
admin.site.site_title = "Agent Decision Capture"
admin.site.index_title = "Administration"
