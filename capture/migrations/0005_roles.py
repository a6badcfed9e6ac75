"""The three roles of the pages, as groups that an operator puts people into.

Made once: whoever changes or deletes a group afterwards is not overruled by a later migrate.
"""

from typing import Any, Final

from django.contrib.auth.management import create_permissions
from django.db import migrations

_SEE: Final = ("view_agentcallrecord",)
_KEEP: Final = (*_SEE, "pin_hand")
_ADMINISTER: Final = (
    *_KEEP,
    *("view_agentcallenvelope", "view_agentcalldictionary", "view_agenthand", "view_agentinferencecharge"),
    *("view_agentaccess", "view_agentservicekey", "view_agentverdict"),
)
ROLES: Final = {"Capture viewer": _SEE, "Capture keeper": _KEEP, "Capture administrator": _ADMINISTER}


def make(apps: Any, schema_editor: Any) -> None:
    """Permissions are made after all migrations, as a rule; these groups need theirs now."""
    config = apps.get_app_config("capture")
    config.models_module = True
    create_permissions(config, verbosity=0, apps=apps)
    config.models_module = None
    permissions = apps.get_model("auth", "Permission").objects.filter(content_type__app_label="capture")
    for name, codenames in ROLES.items():
        group, is_new = apps.get_model("auth", "Group").objects.get_or_create(name=name)
        if is_new:
            group.permissions.set(permissions.filter(codename__in=codenames))


def unmake(apps: Any, schema_editor: Any) -> None:
    """The groups go, the people stay."""
    apps.get_model("auth", "Group").objects.filter(name__in=ROLES).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("capture", "0004_verdicts"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(make, unmake)]
