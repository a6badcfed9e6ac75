"""The claims agent as a process of its own: what became of each claim, and what can be said of its run."""

import os
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings

from capture.runs.branching import Verdict
from capture.runs.inventory import inventory
from capture.runs.pairing import Paired, pair
from capture.runs.quality import LineState, Report, report
from capture.runs.reading import list_runs, read_artifacts, read_run
from capture.runs.wanted import RunFilter
from capture_sdk.runs.records import artifact_refs
from tests.site_process import ROOT

pytestmark = pytest.mark.django_db


@pytest.fixture
def settled(buffer: Any) -> dict[str, Paired]:
    """Every claim's run, by its name and status."""
    url = str(settings.CACHES["capture"]["LOCATION"])
    environment = {"PATH": os.environ["PATH"], "AGENT_CAPTURE_REDIS_URL": url}
    command = [sys.executable, "-m", "examples.claims"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, timeout=60, check=False)
    assert ended.returncode == 9  # as it was killed
    heads = list_runs(RunFilter(), agent_id="claims-agent", limit=10).runs
    return {f"{head.name} {head.status}": pair(read_run(head.key).events) for head in heads}


def judged(paired: Paired) -> Report:
    refs = [ref["$artifact"] for each in paired.moments for ref in artifact_refs(dict(each.fields))]
    return report(paired, inventory(paired, read_artifacts(refs).get))


def test_every_claim_ends_as_it_did(settled: dict[str, Paired]) -> None:
    assert sorted(settled) == ["claim 101 ok", "claim 102 ok", "claim 103 error", "claim 104 unfinished"]
    paid, denied, failed, killed = (settled[name] for name in sorted(settled))
    assert [each.name for each in paid.executions] == ["read_policy", "estimate_damage", "pay"]
    assert [each.side_effect for each in paid.executions] == ["read", "none", "irreversible"]
    assert [len(each.executions) for each in paid.proposals] == [1, 1, 1]
    (only,) = denied.unexecuted
    assert only.denials[0].fields["by"] == "payment gate"
    assert [each.status for each in failed.executions] == ["error"]
    assert failed.frame[-1].fields["error"]["type"] == "StoreDown"
    assert [each.status for each in killed.executions] == ["ok", None]
    _is_whole_and_branches_until_it_paid(judged(paid))
    assert any(each.state is LineState.NOT_MET for each in judged(killed).lines)


def _is_whole_and_branches_until_it_paid(found: Report) -> None:
    assert [each for each in found.lines if each.state is LineState.NOT_MET] == []
    assert found.branching.warnings == ()
    assert all(place.count for place in found.branching.places)
    safe = [each.verdict is Verdict.SAFE for each in found.branching.points]
    assert safe == [True] * 6 + [False] * 2  # nothing is branched off behind a payment
