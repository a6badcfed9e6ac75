"""The three groups that the migration makes, each tried by somebody who is in it."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.test import Client

from tests.build import HAND, TABLE, play, seat

pytestmark = pytest.mark.django_db

ROLES = import_module("capture.migrations.0005_roles")
HAND_QUERY = f"tableId={TABLE}&handNumber={HAND}"
LOG = "/admin/capture/agentaccess/"


@pytest.fixture(autouse=True)
def roles(db: None) -> None:
    """Made anew where a test before this one emptied all tables."""
    ROLES.make(apps, None)


def member(*groups: str) -> Client:
    person = User.objects.create_user("person", is_staff=True)
    person.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(person)
    return client


@pytest.mark.parametrize(
    ("role", "sees", "keeps", "reads_the_log"),
    [
        ("none", 403, 403, 403),
        ("Capture viewer", 200, 403, 403),
        ("Capture keeper", 200, 302, 403),
        ("Capture administrator", 200, 302, 200),
    ],
)
def test_a_role_may_what_it_is_for(buffer: Any, role: str, sees: int, keeps: int, reads_the_log: int) -> None:
    play(seat(), 1)
    person = member(role)
    assert person.get(f"/agent-capture/hand?{HAND_QUERY}").status_code == sees
    assert person.post(f"/agent-capture/keep?{HAND_QUERY}").status_code == keeps
    assert person.get(LOG).status_code == reads_the_log


def test_a_role_that_an_installation_changed_stays_as_it_is() -> None:
    group = Group.objects.get(name="Capture viewer")
    group.permissions.clear()
    ROLES.make(apps, None)
    assert not group.permissions.exists()


def test_making_the_roles_leaves_the_app_as_it_was() -> None:
    before = apps.get_app_config("capture").models_module
    ROLES.make(apps, None)
    assert apps.get_app_config("capture").models_module is before
