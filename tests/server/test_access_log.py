"""Who read, opened, downloaded or kept what is written down, and never what it said."""

import logging
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client as Http

from capture import metrics
from capture.models import AgentAccess
from tests.build import HAND, TABLE, play, seat

pytestmark = pytest.mark.django_db
HAND_QUERY: dict[str, str | int] = {"tableId": TABLE, "handNumber": HAND}
SEAT: dict[str, str | int] = HAND_QUERY | {"agentId": "river-rat"}


@pytest.fixture(autouse=True)
def _keys(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = "operator:read-all+promote:operator-key-0123456789abcdef"


def lines() -> list[tuple[str, str, list[str], int | None, str]]:
    rows = AgentAccess.objects.order_by("id")
    assert all((row.table_id, row.hand_number) == (TABLE, HAND) for row in rows)
    return [(row.actor, row.action, row.agents, row.action_index, row.detail) for row in rows]


def call(path: str, **params: Any) -> Any:
    head = {"X-Service-Key": "operator-key-0123456789abcdef"}
    return Http().get(f"/internal/agent-capture/{path}", params, headers=head)


def test_every_read_by_key_is_a_line(buffer: Any) -> None:
    for agent in ("river-rat", "rival"):
        play(seat(agent), 1)
    call("hand", **SEAT)
    call("hand-all", **HAND_QUERY)
    call("prompt", **SEAT, actionIndex=1)
    assert lines() == [
        ("key:operator", "read", ["river-rat"], None, ""),
        ("key:operator", "read", ["rival", "river-rat"], None, ""),
        ("key:operator", "prompt", ["river-rat"], 1, ""),
    ]


def test_a_pin_is_a_line_that_says_what_it_did(buffer: Any) -> None:
    play(seat(), 1)
    head = {"X-Service-Key": "operator-key-0123456789abcdef"}
    for _ in range(2):
        Http().post("/internal/agent-capture/promote", SEAT, content_type="application/json", headers=head)
    assert [line[4] for line in lines()] == ["pinned", "already_pinned"]


def test_what_a_person_does_on_the_pages_is_written_down_too(buffer: Any) -> None:
    play(seat(), 1)
    client = Http()
    client.force_login(User.objects.create_superuser("kim"))
    client.get("/agent-capture/hand", HAND_QUERY)
    client.get("/agent-capture/prompt", SEAT | {"actionIndex": 1}, headers={"HX-Request": "true"})
    client.get("/agent-capture/raw", SEAT | {"actionIndex": 1, "part": "response"})
    client.post(f"/agent-capture/keep?tableId={TABLE}&handNumber={HAND}")
    client.get("/api/hosted-agent/hand", SEAT)
    assert {line[0] for line in lines()} == {"user:kim"}
    assert [(line[1], line[4]) for line in lines()] == [
        ("read", ""),
        ("prompt", ""),
        ("download", "response"),
        ("pin", "pinned"),
        ("read", ""),
    ]


def test_what_is_refused_is_no_access(buffer: Any) -> None:
    call("hand", tableId=TABLE)
    Http().get("/internal/agent-capture/hand", SEAT)
    assert not lines()


def test_without_the_database_the_line_is_in_the_log_and_counted(
    buffer: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def down(**_: object) -> None:
        raise OperationalError("gone")

    before = metrics.ACCESS_UNSTORED._value.get()
    monkeypatch.setattr(AgentAccess.objects, "create", down)
    with caplog.at_level(logging.WARNING, "capture.access"):
        assert call("hand", **SEAT).status_code == 200
    (record,) = caplog.records
    assert record.access["actor"] == "key:operator"  # type: ignore[attr-defined]
    assert metrics.ACCESS_UNSTORED._value.get() == before + 1


def test_the_admin_shows_the_log_and_lets_nobody_change_it(buffer: Any) -> None:
    play(seat(), 1)
    call("hand", **SEAT)
    client = Http()
    client.force_login(User.objects.create_superuser("kim"))
    page = client.get("/admin/capture/agentaccess/")
    assert "key:operator" in page.content.decode()
    line = AgentAccess.objects.get()
    assert client.post(f"/admin/capture/agentaccess/{line.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.post(f"/admin/capture/agentaccess/{line.pk}/change/", {"actor": "x"}).status_code == 403
