"""Service keys of the database: made by command, hashed, bound, rotated, and remembered while Postgres is down."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client as Http
from django.utils import timezone

from capture.auth import stored
from capture.auth.callers import Scope
from capture.models import AgentServiceKey
from tests.build import HAND, TABLE, play, seat

pytestmark = pytest.mark.django_db
SEAT: dict[str, str | int] = {"tableId": TABLE, "handNumber": HAND, "agentId": "river-rat"}


@pytest.fixture(autouse=True)
def _only_stored_keys(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = ""
    monkeypatch.setattr(stored, "_remembered", stored._Remembered())


def command(*arguments: str) -> Any:
    out = StringIO()
    call_command("service_key", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def create(*scopes: str, **options: str) -> str:
    extra = [f"--{name}={value}" for name, value in options.items()]
    return str(
        command("create", "bot", *(f"--scope={scope}" for scope in scopes or ["read-own"]), *extra)["key"]
    )


def ask(key: str, path: str = "hand", **params: str | int) -> int:
    found = Http().get(f"/internal/agent-capture/{path}", SEAT | params, headers={"X-Service-Key": key})
    return found.status_code


def test_a_key_made_by_command_opens_what_its_scopes_say(buffer: Any) -> None:
    key = create("read-own")
    assert ask(key) == 200
    assert (
        Http().get("/internal/agent-capture/recent-hands", headers={"X-Service-Key": key}).status_code == 403
    )


def test_the_key_is_kept_nowhere() -> None:
    key = create()
    row = AgentServiceKey.objects.get()
    assert key.split("_", 2)[2] not in str(row.__dict__)  # a secret may hold "_" itself
    assert key not in json.dumps(command("list"))


def test_a_key_that_is_nearly_right_is_no_key(buffer: Any) -> None:
    key = create()
    other = key[:-1] + ("A" if key[-1] != "A" else "B")
    assert [ask(each) for each in (other, key + "x", key[:-1], key.upper(), f" {key}x")] == [401] * 5


def test_keys_of_one_name_stand_side_by_side_until_the_old_one_is_revoked(buffer: Any) -> None:
    old, new = create(), create()
    assert (ask(old), ask(new)) == (200, 200)
    command("revoke", old.split("_")[1])
    assert (ask(old), ask(new)) == (401, 200)


def test_a_name_revokes_every_key_of_it(buffer: Any) -> None:
    keys = [create(), create()]
    assert command("revoke", "bot") == {"revoked": 2}
    assert [ask(key) for key in keys] == [401, 401]


def test_revoking_what_is_not_there_says_so() -> None:
    with pytest.raises(CommandError, match=r"no valid key .* 'nobody'"):
        command("revoke", "nobody")


def test_a_bound_key_reads_its_own_agents_alone(buffer: Any) -> None:
    key = create("read-own", "promote", agent="river-rat")
    play(seat("rival"), 1)
    assert (ask(key), ask(key, agentId="rival")) == (200, 403)


def test_a_bound_key_sees_no_hand_of_everybody(buffer: Any) -> None:
    key = create("read-all", agent="river-rat")
    head = {"X-Service-Key": key}
    hand: dict[str, str | int] = {"tableId": TABLE, "handNumber": HAND}
    whole = Http().get("/internal/agent-capture/hand-all", hand, headers=head)
    assert whole.status_code == 403
    assert Http().get("/internal/agent-capture/recent-hands", headers=head).status_code == 403


def test_an_expired_key_is_refused(buffer: Any) -> None:
    key = create(days="1")
    assert ask(key) == 200
    AgentServiceKey.objects.update(expires_at=timezone.now())
    assert ask(key) == 401


def test_its_use_is_noted_once_a_minute(buffer: Any, django_assert_num_queries: Any) -> None:
    key = create()
    ask(key)
    used = AgentServiceKey.objects.get().last_used_at
    assert used is not None
    ask(key)
    assert AgentServiceKey.objects.get().last_used_at == used


@pytest.mark.parametrize(
    "arguments",
    [[""], ["x" * 101], ["a\nb"], ["bot", "--days=0"], ["bot", "--agent="], ["bot", "--agent=a\0"]],
)
def test_what_makes_no_sense_makes_no_key(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        command("create", *arguments, "--scope=ingest")
    assert not AgentServiceKey.objects.exists()


def down(*_: object) -> None:
    raise OperationalError("the server closed the connection")


def test_while_the_database_is_down_a_key_seen_lately_still_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    key = create()
    assert stored.stored_key(key) is not None
    monkeypatch.setattr(stored, "_look_up", down)
    caller = stored.stored_key(key)
    assert caller is not None
    assert (caller.actor, caller.scopes) == ("key:bot", frozenset([Scope.READ_OWN]))


def test_one_not_seen_lately_cannot_be_judged_and_is_no_401(monkeypatch: pytest.MonkeyPatch) -> None:
    key = create()
    assert stored.stored_key(key) is not None
    monkeypatch.setattr(stored, "_look_up", down)
    monkeypatch.setattr(stored, "KEYS_REMEMBERED_SECONDS", 0)
    assert (ask(key), ask("adc_garbage")) == (503, 401)


def test_a_revoked_key_is_forgotten_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    key = create()
    assert stored.stored_key(key) is not None
    command("revoke", "bot")
    assert stored.stored_key(key) is None
    monkeypatch.setattr(stored, "_look_up", down)
    with pytest.raises(stored.KeysUnavailable):
        stored.stored_key(key)
