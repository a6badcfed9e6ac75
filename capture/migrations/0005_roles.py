"""The three roles as groups: viewer, keeper, administrator. An installation may change what they hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.management import create_permissions
from django.db import migrations

SEES = ["view_agentcallrecord"]
KEEPS = [*SEES, "pin_hand"]
TABLES = ["agentaccess", "agenthand", "agentinferencecharge", "agentservicekey", "agentverdict"]
ROLES = {
    "Capture viewer": SEES,
    "Capture keeper": KEEPS,
    "Capture administrator": [*KEEPS, *(f"view_{table}" for table in TABLES)],
}


def make(apps: Any, schema_editor: object) -> None:
    """Make the groups that are not there yet. Permissions are made first: Django makes them after all migrations."""
    with _models_module(apps.get_app_config("capture")) as config:
        create_permissions(config, verbosity=0, apps=apps)
    permissions = apps.get_model("auth", "Permission").objects.filter(content_type__app_label="capture")
    for name, codenames in ROLES.items():
        group, is_new = apps.get_model("auth", "Group").objects.get_or_create(name=name)
        if is_new:
            group.permissions.set(permissions.filter(codename__in=codenames))


@contextmanager
def _models_module(config: Any) -> Iterator[Any]:
    """``create_permissions`` passes over an app without this, and the app of a migration's state has none."""
    kept = getattr(config, "models_module", None)
    config.models_module = kept or True
    try:
        yield config
    finally:
        config.models_module = kept


class Migration(migrations.Migration):
    dependencies = [
        ("capture", "0004_verdicts"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    # Going back keeps the groups: people are in them.
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
