"""Runs kept by rule: the right ones, within the day's budget, and what was left out is said."""

import datetime
import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from capture.models import AgentRun, AgentRunArtifact, AgentRunBudget
from capture.runs.keeping import keep_run
from capture.runs.rules import Rule, is_sampled, keep_by_rule
from capture.runs.run import RunStatus
from capture_sdk.runs.records import EventKind, RunKey
from tests.runs import AGENT, a_run, buffered, event

pytestmark = pytest.mark.django_db


def put(
    name: str, *, status: str | None = "ok", agent_id: str = AGENT, kind: str = EventKind.EVENT
) -> RunKey:
    key = RunKey(agent_id, name)
    events, artifacts = a_run(key, status=status)
    buffered([*events, event(7, kind, key=key, name=name)], artifacts)
    return key


def run(*options: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("keep_runs", *options, "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def kept() -> dict[str, str]:
    return dict(AgentRun.objects.order_by("run_id").values_list("run_id", "why"))


def test_a_rule_keeps_what_it_names_and_nothing_else(buffer: Any) -> None:
    put("good")
    put("failed", status="error")
    put("denied", kind=EventKind.TOOL_DENIED)
    put("odd", kind="my.own", agent_id="other")
    put("going", status=None)
    options = ("--status", "error", "--kind", "tool.denied", "--kind", "my.own")
    figures = run(*options)
    assert kept() == {"failed": "rule: status", "denied": "rule: kind", "odd": "rule: kind"}
    assert figures["wanted"] == {"status": 1, "kind": 2}
    assert (figures["lookedAt"], figures["kept"], figures["events"]) == (5, {"pinned": 3}, 24)
    assert AgentRunBudget.objects.count() == 0
    assert run(*options)["wanted"] == {}
    buffered([event(8, key=RunKey(AGENT, "failed"))])
    assert run(*options)["kept"] == {"pinned": 1}
    assert run("--status", "unfinished", "--agent", "nobody")["lookedAt"] == 0


def test_a_days_budget_holds_and_what_it_had_no_room_for_is_said(buffer: Any) -> None:
    for name in ("a", "b", "c"):
        put(name, status="error")
    put("sampled")
    size = keep_run(put("measure"), by="test").bytes
    rule = Rule(statuses=frozenset({RunStatus.ERROR}), sample=1.0)
    done = keep_by_rule(rule, most=2 * size, by="test")
    assert done.wanted == {"status": 3, "sample": 1}
    assert done.kept["pinned"] >= 1
    assert done.bytes <= AgentRunBudget.objects.get().spent <= 2 * size
    assert {why for _, why in done.left_out} == {"over_budget"}
    assert done.kept["pinned"] + len(done.left_out) == 4
    assert not AgentRun.objects.filter(run_id="sampled").exists()  # the failed ones went first
    again = keep_by_rule(rule, most=0, by="test")
    assert (again.kept, len(again.left_out)) == ({}, len(done.left_out))
    assert len(keep_by_rule(rule, most=None, by="test").left_out) == 0


def test_what_a_person_keeps_is_in_no_budget(buffer: Any) -> None:
    keep_run(put("a"), by="user:kim")
    assert not AgentRunBudget.objects.exists()


def test_a_sample_is_the_same_every_time_and_about_its_share() -> None:
    keys = [RunKey(AGENT, f"run-{number}") for number in range(2_000)]
    chosen = [key for key in keys if is_sampled(key, 0.1)]
    assert 150 < len(chosen) < 250
    assert all(is_sampled(key, 0.2) for key in chosen)
    assert not any(is_sampled(key, 0.0) for key in keys)
    assert all(is_sampled(key, 1.0) for key in keys)


def test_a_dry_run_keeps_nothing(buffer: Any) -> None:
    put("failed", status="error")
    assert run("--status", "error", "--dry-run")["wanted"] == {"status": 1}
    assert kept() == {}


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--sample", "2"),
        ("--sample", "0%"),
        ("--sample", "101%"),
        ("--sample", "1%", "--budget-mb", "-1"),
    ],
)
def test_what_chooses_nothing_is_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run(*options)


@pytest.mark.usefixtures("dead_buffer")
def test_a_store_that_is_down_is_a_failure() -> None:
    with pytest.raises(CommandError, match="buffer is unavailable"):
        run("--sample", "1%")


def prune(*options: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("prune_runs", "--older-than", "30", *options, "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_old_runs_of_rules_are_deleted_with_what_nobody_needs(buffer: Any) -> None:
    put("failed", status="error")
    run("--status", "error")
    keep_run(put("asked"), by="user:kim")
    assert prune()["runs"] == 0
    AgentRun.objects.update(kept_at=timezone.now() - datetime.timedelta(days=31))
    assert prune("--dry-run") == {"runs": 1, "events": 8, "artifacts": 0, "dry_run": True}
    assert prune() == {"runs": 1, "events": 8, "artifacts": 0, "dry_run": False}
    assert (kept(), AgentRunArtifact.objects.count()) == ({"asked": "asked"}, 2)
    assert prune("--all") == {"runs": 1, "events": 8, "artifacts": 2, "dry_run": False}
    assert not AgentRunArtifact.objects.exists()
