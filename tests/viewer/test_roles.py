"""Three roles as groups; every page refuses everybody else."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from tests.build import HAND, TABLE, play, seat
from viewer.urls import urlpatterns

pytestmark = pytest.mark.django_db

PAGES = [f"/agent-capture/{each.pattern}" for each in urlpatterns]
POSTS = {"/agent-capture/keep", "/agent-capture/verdict"}
HAND_QUERY = f"tableId={TABLE}&handNumber={HAND}"


def somebody(*groups: str, is_staff: bool = True) -> Client:
    user = User.objects.create_user("somebody", is_staff=is_staff)
    user.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(user)
    return client


def ask(client: Client, path: str) -> Any:
    return client.post(path) if path in POSTS else client.get(path)


@pytest.mark.parametrize("path", PAGES)
def test_who_is_not_logged_in_is_led_to_the_login(path: str) -> None:
    answer = ask(Client(), path)
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("admin:login"))


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("is_staff", [True, False])
def test_who_has_no_role_is_refused(path: str, is_staff: bool) -> None:
    assert ask(somebody(is_staff=is_staff), path).status_code == 403


@pytest.mark.parametrize("path", PAGES)
def test_a_role_without_being_staff_is_no_role(path: str) -> None:
    assert ask(somebody("Capture administrator", is_staff=False), path).status_code == 403


def test_a_viewer_sees_and_keeps_nothing(buffer: Any) -> None:
    play(seat(), 1)
    client = somebody("Capture viewer")
    assert client.get(f"/agent-capture/hand?{HAND_QUERY}").status_code == 200
    assert client.post(f"/agent-capture/keep?{HAND_QUERY}").status_code == 403
    assert client.get("/admin/capture/agentaccess/").status_code == 403


def test_a_keeper_keeps_and_sees_no_access_log(buffer: Any) -> None:
    play(seat(), 1)
    client = somebody("Capture keeper")
    assert client.post(f"/agent-capture/keep?{HAND_QUERY}").status_code == 302
    assert client.get("/admin/capture/agentaccess/").status_code == 403


@pytest.mark.parametrize(
    "table", ["agentaccess", "agentservicekey", "agentcallrecord", "agentinferencecharge", "agenthand"]
)
def test_an_administrator_reads_the_tables_and_changes_none(buffer: Any, table: str) -> None:
    client = somebody("Capture administrator")
    assert client.get(f"/admin/capture/{table}/").status_code == 200
    assert client.get(f"/admin/capture/{table}/add/").status_code == 403


def test_a_group_that_an_operator_changed_stays_changed() -> None:
    group = Group.objects.get(name="Capture viewer")
    group.permissions.clear()
    import_module("capture.migrations.0005_roles").make(apps, None)
    assert not group.permissions.exists()
    assert Group.objects.get(name="Capture keeper").permissions.count() == 2
