"""``promote_hand``: every agent by itself, what is missing named, a store that is down never a success."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from capture.ledger import record_charges
from capture.models import AgentAccess, AgentCallRecord
from tests.build import HAND, TABLE, fall_back, play, seat

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("promote_hand", TABLE, str(HAND), *arguments, "--json", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def statuses(answer: dict[str, Any]) -> dict[str, tuple[str, int]]:
    return {each["agentId"]: (each["status"], each["inserted"]) for each in answer["agents"]}


def test_every_agent_is_kept_and_accounted_for_by_itself(buffer: Any) -> None:
    play(seat("a"), 1)
    play(seat("b"), 2)
    fall_back(seat("c"), 3)
    assert statuses(run()) == {"a": ("pinned", 1), "b": ("pinned", 1), "c": ("nothing_to_capture", 0)}


def test_twice_is_the_same_as_once(buffer: Any) -> None:
    play(seat("a"), 1)
    run()
    assert statuses(run()) == {"a": ("already_pinned", 0)}
    assert AgentCallRecord.objects.count() == 1


def test_only_the_named_agents_are_kept(buffer: Any) -> None:
    for agent in ("a", "b", "c"):
        play(seat(agent), 1)
    assert set(statuses(run("--agent", "a", "--agent", "c"))) == {"a", "c"}
    assert set(AgentCallRecord.objects.values_list("agent_id", flat=True)) == {"a", "c"}


def test_what_is_missing_is_named_with_its_reason(buffer: Any) -> None:
    at = seat("a")
    play(at, 1)
    play(at, 2)
    buffer.delete(f"turn:{TABLE}:{HAND}:a:2")
    assert run()["missing"] == [{"agentId": "a", "actionIndex": 2, "reason": "gone"}]


def test_each_pin_is_in_the_access_log(buffer: Any) -> None:
    play(seat("a"), 1)
    play(seat("b"), 1)
    run()
    lines = AgentAccess.objects.order_by("id").values_list("action", "agents", "detail")
    assert list(lines) == [("pin", ["a"], "pinned"), ("pin", ["b"], "pinned")]
    assert AgentCallRecord.objects.values_list("pinned_by", flat=True)[0].startswith(
        "command:promote_hand by "
    )


def test_a_user_without_a_name_is_told_by_number(buffer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    play(seat("a"), 1)
    run()
    assert AgentAccess.objects.get().actor == f"command:promote_hand by uid {os.getuid()}"


def test_a_buffer_that_is_down_is_no_success(buffer: Any, dead_buffer: None) -> None:
    record_charges([seat("a").fall_back(1).charge(is_fallback=False)])
    out = StringIO()
    with pytest.raises(CommandError, match="a store failed"):
        call_command("promote_hand", TABLE, str(HAND), "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert answer["agents"] == [{"agentId": "a", "status": "failed", "failure": "the buffer is unavailable"}]
    assert answer["missing"] is None
    assert not AgentAccess.objects.exists()


def test_a_hand_that_nobody_knows_keeps_nothing(buffer: Any) -> None:
    assert run() == {"tableId": TABLE, "handNumber": HAND, "agents": [], "missing": []}


@pytest.mark.parametrize("number", ["-1", "two", str(2**63)])
def test_a_hand_number_that_is_none_is_refused_by_name(number: str) -> None:
    with pytest.raises(CommandError, match="hand number"):
        call_command("promote_hand", TABLE, f" {number}")


@pytest.mark.django_db(transaction=True)
def test_two_at_once_both_succeed(buffer: Any) -> None:
    at = seat("a")
    for index in range(10):
        play(at, index)

    def keep(_: int) -> int:
        try:
            return statuses(run())["a"][1]
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(keep, range(2))) == [0, 10]
