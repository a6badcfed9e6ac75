"""A run goes on in other processes: by the environment, by a header, after a stop. One that was killed has no end."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

from capture_sdk import IdError
from capture_sdk.runs import RUN_HEADER, RUN_VARIABLE, RunEvent
from capture_sdk.runs.handover import handed
from capture_sdk.runs.records import decode_event
from tests.sdk.recorded import Recorded, recorded
from tests.site_process import ROOT


@pytest.fixture
def at() -> Iterator[Recorded]:
    with recorded() as made:
        yield made


PARENT_HAS = """
import os, sys
from pathlib import Path
from capture_sdk import MemoryTransport
from capture_sdk.runs import init

class Written(MemoryTransport):
    def write_events(self, parcels):
        with open(sys.argv[1], "ab") as file:
            for parcel in parcels:
                file.write(len(parcel.event).to_bytes(4, "big") + parcel.event)
        return []

client = init(service_name="child", transport=Written())
"""


def child(program: str, out: Any, environment: dict[str, str]) -> tuple[int, list[RunEvent]]:
    """Run a child process with this environment; its exit status and what it wrote."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", PARENT_HAS + textwrap.dedent(program), str(out)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    data, events = out.read_bytes() if out.exists() else b"", []
    while data:
        length = int.from_bytes(data[:4], "big")
        events.append(decode_event(data[4 : 4 + length]))
        data = data[4 + length :]
    return finished.returncode, events


def test_a_child_joins_the_run_of_its_environment_by_itself(at: Recorded, tmp_path: Any) -> None:
    with at.client.with_run("parent") as run, at.client.tool_execution("spawn") as execution:
        status, events = child('client.record_event("in the child")', tmp_path / "out", run.environment())
    assert status == 0
    assert {each.run for each in events} == {run.key}
    assert [each.kind for each in events] == ["run.resumed", "event", "run.left"]
    assert {each.parent_id for each in events} == {execution.event_id}
    assert events[0].fields == {"isPart": True}
    assert events[2].fields == {"status": "ok"}
    assert events[0].writer != at.events()[0].writer


def test_a_child_that_fails_leaves_with_its_error(at: Recorded, tmp_path: Any) -> None:
    with at.client.with_run("parent") as run:
        status, events = child(
            """
            client.record_event("a")
            raise LookupError("nothing there")
            """,
            tmp_path / "out",
            run.environment(),
        )
    assert status == 1
    assert events[-1].kind == "run.left"
    assert events[-1].fields["status"] == "error"
    assert events[-1].fields["error"]["message"] == "nothing there"


def test_a_childs_own_run_names_the_one_it_was_handed(at: Recorded, tmp_path: Any) -> None:
    with at.client.with_run("parent") as run:
        _, events = child(
            """
            with client.with_run("own"):
                client.record_event("a")
            """,
            tmp_path / "out",
            run.environment(),
        )
    assert [each.kind for each in events] == ["run.started", "event", "run.finished"]
    assert events[0].run.agent_id == "child"
    assert events[0].fields["outer"] == {"agentId": run.agent_id, "runId": run.run_id}


def test_a_process_that_is_killed_leaves_a_run_without_an_end(tmp_path: Any) -> None:
    status, events = child(
        """
        with client.with_run("doomed"):
            client.record_event("a")
            client.flush()
            os.kill(os.getpid(), 9)
        """,
        tmp_path / "out",
        {},
    )
    assert status == -9
    assert [each.kind for each in events] == ["run.started", "event"]


def test_a_request_joins_the_run_of_its_header(at: Recorded) -> None:
    with recorded() as service:
        with at.client.with_run("caller") as run:
            headers = run.headers()
            with service.client.join_run(headers, {"route": "/x"}):
                service.client.record_event("served")
        assert headers.keys() == {RUN_HEADER}
        joined, event, left = service.events()
        assert {each.run for each in (joined, event, left)} == {run.key}
        assert joined.fields == {"metadata": {"route": "/x"}, "isPart": True}
        assert left.kind == "run.left"
    assert [each.kind for each in at.events()] == ["run.started", "run.finished"]


def test_headers_are_found_however_they_are_written() -> None:
    value = "1:claims%3Aagent:run%201:"
    for name in (RUN_HEADER, RUN_HEADER.lower(), "HTTP_X_AGENT_CAPTURE_RUN", RUN_VARIABLE):
        found = handed({"Accept": "*/*", name: value})
        assert found is not None
        assert (found.key.agent_id, found.key.run_id, str(found)) == ("claims:agent", "run 1", value)
    assert handed({"Accept": "*/*"}) is None
    assert handed("  ") is None


MALFORMED = [
    "run-1",
    "1:a",
    "2:a:b:",
    "1::b:",
    "1:a::",
    "1:a:b:c:d",
    "1:a%00:b:",
    "1:a:%ff:",
    "1:" + "a" * 9_000,
    "\0",
]


@pytest.mark.parametrize("value", MALFORMED)
def test_a_malformed_hand_over_is_refused_and_never_raised(at: Recorded, value: str) -> None:
    with pytest.raises((IdError, UnicodeDecodeError)):
        handed(value)
    with at.client.join_run(value):
        at.client.record_event("lost")
    assert at.events() == []
    assert at.client.stats().faults == 1
    assert at.client.stats().lost == {"no_run": 3}


def test_a_malformed_environment_costs_the_process_nothing(tmp_path: Any) -> None:
    status, events = child(
        """
        with client.with_run("own"):
            pass
        """,
        tmp_path / "out",
        {RUN_VARIABLE: "nonsense"},
    )
    assert status == 0
    assert [each.kind for each in events] == ["run.started", "run.finished"]


def test_a_run_is_resumed_by_its_id(at: Recorded) -> None:
    with at.client.with_run("run", run_id="r-1"):
        pass
    with at.client.resume_run("r-1", {"again": 1}):
        at.client.record_event("more")
    kinds = [each.kind for each in at.events()]
    assert kinds == ["run.started", "run.finished", "run.resumed", "event", "run.finished"]
    assert at.fields("run.resumed") == {"metadata": {"again": 1}}
    assert {each.run.run_id for each in at.events()} == {"r-1"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_within_a_run_counts_for_itself_and_leaves_the_run_to_its_parent(
    at: Recorded, tmp_path: Any
) -> None:
    def wait(pid: int) -> None:
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0

    out = tmp_path / "out"
    with at.client.with_run("run") as run:
        at.client.record_event("before")
        at.client.flush()
        pid = os.fork()
        if pid == 0:
            try:
                at.memory.__init__()  # type: ignore[misc]
                at.client.record_event("in the child")
                run.__exit__(None, None, None)
                out.write_text(
                    "\n".join(f"{each.kind} {each.sequence} {each.writer}" for each in at.events())
                )
            finally:
                os._exit(0)
        wait(pid)
    mine = at.events()
    assert [each.kind for each in mine] == ["run.started", "event", "run.finished"]
    theirs = [line.split() for line in out.read_text().splitlines()]
    assert [(kind, number) for kind, number, _ in theirs] == [("event", "0"), ("run.left", "1")]
    assert theirs[0][2] != mine[0].writer
