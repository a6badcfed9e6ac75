"""The quality report answers each line with what is missing and of which event; it never guesses."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from capture.runs.inventory import inventory
from capture.runs.pairing import pair
from capture.runs.quality import CHECKS, Line, LineState, Report, report
from capture.runs.run import Gap
from capture_sdk.runs.records import EventKind
from tests.run_writing import Writing

MET, NOT_MET, NOT_APPLICABLE = LineState.MET, LineState.NOT_MET, LineState.NOT_APPLICABLE
TOOL = {"type": "function", "function": {"name": "search", "description": "Finds.", "parameters": {}}}
REQUEST = {"messages": [{"role": "user", "content": "Which?"}], "tools": [TOOL]}


@pytest.fixture
def run() -> Writing:
    return Writing()


def reported(run: Writing, **told: Any) -> Report:
    paired = pair(run.events)
    return report(paired, inventory(paired, lambda _: None), **told)


def line(run: Writing, code: str, **told: Any) -> Line:
    return reported(run, **told).line(code)


def lacks(found: Line) -> list[tuple[str | None, str]]:
    return [(lack.event_id, lack.what) for lack in found.lacks]


def whole_run() -> Writing:
    """A run that lacks nothing."""
    run = Writing()
    run.start()
    run.checkpoint("input.loaded")
    call = run.call(request=REQUEST)
    run.emit(
        EventKind.CONTEXT_ANNOTATED,
        {"kind": "memory", "path": "messages[0]", "call": call, "provenance": "notes"},
    )
    proposal = run.propose(call=call, callId="c")
    run.called(call, stream={"chunks": 2, "times": [1, 2], "isComplete": True})
    run.checkpoint("before-tool")
    run.executed(run.execute(proposal=proposal, sideEffect="write"))
    failed = run.call(request=REQUEST)
    error = {"type": "Timeout", "message": "too late"}
    run.emit(EventKind.MODEL_CALL_FINISHED, {"call": failed, "status": "error", "error": error})
    run.finish()
    return run


def test_a_run_that_lacks_nothing_meets_every_line() -> None:
    found = reported(whole_run())
    assert [(each.code, each.state, each.lacks) for each in found.lines] == [
        (check.code, MET, ()) for check in CHECKS
    ]
    assert (found.met, found.not_met) == (len(CHECKS), 0)


def test_a_run_of_nothing_asks_nothing(run: Writing) -> None:
    found = reported(run)
    assert {each.state for each in found.lines} == {NOT_APPLICABLE}
    assert all(each.reason for each in found.lines)


def test_a_line_says_how_many_of_how_many(run: Writing) -> None:
    for model in ("m", "", "m"):
        run.call(model=model)
    found = line(run, "call.model")
    assert (found.state, found.count, found.asked) == (NOT_MET, 1, 3)
    assert (found.reason, lacks(found)) == ("Something is missing (model calls: 1 of 3).", [("w1", "model")])


def test_names_and_metadata(run: Writing) -> None:
    start = run.emit(EventKind.RUN_STARTED, {"name": ""})
    event = run.emit(EventKind.EVENT, {"data": 1})
    assert lacks(line(run, "names")) == [(start, "name"), (event, "name"), (start, "metadata")]


def test_metadata_that_is_nothing_was_captured_as_that(run: Writing) -> None:
    run.start(metadata=None)
    assert line(run, "names").state is MET


def test_a_run_whose_start_is_not_there(run: Writing) -> None:
    run.emit(EventKind.EVENT, {"name": "seen"})
    assert lacks(line(run, "names")) == [(None, "run.started, with the run's name and metadata")]


@pytest.mark.parametrize("field", ["provider", "model", "operation"])
def test_what_each_call_names(run: Writing, field: str) -> None:
    call = run.call(**{field: None})
    assert lacks(line(run, f"call.{field}")) == [(call, field)]


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({}, "request"),
        ({"params": {"temperature": 1}}, "request"),
        ({"request": {"$artifact": "0" * 64, "bytes": 1}}, "request: its artifact is not available"),
    ],
)
def test_the_request_of_each_call(run: Writing, fields: dict[str, object], what: str) -> None:
    call = run.emit(EventKind.MODEL_CALL_STARTED, fields)
    assert lacks(line(run, "call.request")) == [(call, what)]


@pytest.mark.parametrize("fields", [{"request": None}, {"request": ""}, {"params": REQUEST}])
def test_a_request_that_is_nothing_is_one(run: Writing, fields: dict[str, object]) -> None:
    run.emit(EventKind.MODEL_CALL_STARTED, fields)
    assert line(run, "call.request").state is MET


@pytest.mark.parametrize(
    ("finish", "what"),
    [
        (None, "end"),
        ({"status": "ok"}, "output"),
        ({"status": "incomplete"}, "output"),
        ({"output": 1}, "status"),
        ({"status": "fine", "output": 1}, "status"),
        ({"status": "ok", "output": None}, None),
        ({"status": "error"}, None),
        ({"status": "cancelled"}, None),
    ],
)
def test_the_response_of_each_call(run: Writing, finish: dict[str, object] | None, what: str | None) -> None:
    call = run.call()
    if finish is not None:
        run.emit(EventKind.MODEL_CALL_FINISHED, {"call": call, **finish})
    assert lacks(line(run, "call.response")) == ([] if what is None else [(call, what)])


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"request": REQUEST}, NOT_MET),
        ({"request": {**REQUEST, "model": "m"}}, NOT_MET),
        ({"request": {**REQUEST, "temperature": 1}}, MET),
        ({"settings": {}}, MET),
        ({"params": {}}, MET),
    ],
)
def test_the_settings_of_each_call(run: Writing, fields: dict[str, object], state: LineState) -> None:
    run.emit(EventKind.MODEL_CALL_STARTED, fields)
    assert line(run, "call.settings").state is state


def test_usage_is_asked_of_answered_calls(run: Writing) -> None:
    first, second, third = run.call(), run.call(), run.call()
    run.emit(EventKind.MODEL_CALL_FINISHED, {"call": first, "status": "ok"})
    run.called(second, usage=None)
    run.emit(EventKind.MODEL_CALL_FINISHED, {"call": third, "status": "error"})
    found = line(run, "call.usage")
    assert (lacks(found), found.asked) == ([(first, "usage")], 2)


def test_a_failed_call_says_how(run: Writing) -> None:
    call = run.call()
    run.emit(EventKind.MODEL_CALL_FINISHED, {"call": call, "status": "error"})
    assert lacks(line(run, "call.error")) == [(call, "error")]


def test_an_execution_has_a_proposal(run: Writing) -> None:
    bare, elsewhere = run.execute(), run.execute(proposal="nobody")
    run.propose(callId="c")
    run.propose(callId="c")
    shared = run.execute(callId="c")
    assert lacks(line(run, "tool.proposal")) == [
        (bare, "proposal"),
        (elsewhere, "proposal: the one it names is not there"),
        (shared, "proposal: 2 share its call id"),
    ]


def test_a_proposal_was_executed_or_denied(run: Writing) -> None:
    run.deny(run.propose())
    run.execute(proposal=run.propose())
    left = run.propose()
    assert lacks(line(run, "tool.execution")) == [(left, "execution or denial")]


def test_an_execution_has_an_outcome(run: Writing) -> None:
    executions = [run.execute() for _ in range(5)]
    for execution, fields in zip(executions, [{"status": "ok"}, {"status": "error"}, {}], strict=False):
        run.emit(EventKind.TOOL_FINISHED, {"execution": execution, **fields})
    run.executed(executions[3], output=None)
    assert lacks(line(run, "tool.outcome")) == list(
        zip([*executions[:3], executions[4]], ["output", "error", "status", "end"], strict=True)
    )


def test_a_side_effect_class_is_deliberate(run: Writing) -> None:
    unset, odd = run.execute(), run.execute(sideEffect="launch")
    run.execute(sideEffect="none")
    assert lacks(line(run, "tool.side_effect")) == [
        (unset, "side-effect class"),
        (odd, "side-effect class: its word is none of the five"),
    ]


def _in_the_proposal(run: Writing) -> None:
    run.propose(description="", schema={})


def _in_a_request(run: Writing) -> None:
    run.call(request=REQUEST)
    run.propose()


def _in_an_annotation(run: Writing) -> None:
    run.propose()
    defined = {"kind": "tool_definition", "path": "registry", "value": TOOL}
    run.emit(EventKind.CONTEXT_ANNOTATED, defined)


@pytest.mark.parametrize("told", [_in_the_proposal, _in_a_request, _in_an_annotation])
def test_a_tool_is_described_somewhere(run: Writing, told: Callable[[Writing], None]) -> None:
    told(run)
    assert line(run, "tool.definition").state is MET


def test_what_a_tool_lacks_is_told_once(run: Writing) -> None:
    run.call(request={"messages": [], "tools": [{"name": "search", "input_schema": {}}]})
    first = run.propose()
    run.propose()
    other = run.execute("add")
    assert lacks(line(run, "tool.definition")) == [
        (first, "description of search"),
        (other, "description and schema of add"),
    ]


def test_what_was_retrieved_says_where_from(run: Writing) -> None:
    call = run.call(request={"messages": [], "documents": ["a", "b"]})
    said = {"kind": "retrieval", "path": "documents[0]", "call": call, "provenance": "the library"}
    run.emit(EventKind.CONTEXT_ANNOTATED, said)
    bare = run.emit(EventKind.CONTEXT_ANNOTATED, {"kind": "memory", "path": "notes"})
    assert lacks(line(run, "context.annotated")) == [
        (call, "provenance of documents[1]"),
        (bare, "provenance of notes"),
    ]


def test_whether_a_text_was_retrieved_is_not_guessed(run: Writing) -> None:
    run.call(request=REQUEST)
    assert line(run, "context.annotated").state is NOT_APPLICABLE


def _proposes(run: Writing) -> str:
    return run.propose()


def _acts(run: Writing) -> str:
    run.execute(sideEffect="read")
    return run.execute()


def _answers(run: Writing) -> str:
    run.called(run.call())
    return run.called(run.call())


@pytest.mark.parametrize("decide", [_proposes, _acts, _answers])
def test_a_checkpoint_before_the_first_decision(run: Writing, decide: Callable[[Writing], str]) -> None:
    decision = decide(run)
    run.checkpoint()
    assert lacks(line(run, "checkpoint.decision")) == [(decision, "a checkpoint before it")]
    other = Writing()
    other.checkpoint()
    decide(other)
    assert line(other, "checkpoint.decision").state is MET


def test_a_checkpoint_before_each_side_effect(run: Writing) -> None:
    run.checkpoint()
    parallel = [run.execute(sideEffect="write"), run.execute(sideEffect="external")]
    for each in parallel:
        run.executed(each)
    run.executed(run.execute(sideEffect="read"))
    bare, unset = run.execute(sideEffect="irreversible"), run.execute()
    run.checkpoint()
    run.execute(sideEffect="write")
    found = line(run, "checkpoint.side_effect")
    assert found.asked == 5
    assert lacks(found) == [
        (bare, "a checkpoint before it"),
        (unset, "a checkpoint before it; its class is unset, so that it may have side effects"),
    ]


def test_every_event_names_its_policy(run: Writing) -> None:
    run.start()
    event = run.emit(EventKind.EVENT, {"name": "seen"})
    run.events[1] = replace(run.events[1], policy=None)
    assert lacks(line(run, "redaction")) == [(event, "policy")]


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"stream": {"isComplete": True}}, None),
        ({"stream": {"isComplete": False}}, "end: it was left before"),
        ({"status": "incomplete"}, "end: it was left before"),
        ({"stream": {}}, "whether it was read to its end"),
        ({"stream": 7}, "whether it was read to its end"),
    ],
)
def test_streams_were_read_to_their_end(run: Writing, fields: dict[str, object], what: str | None) -> None:
    call = run.call()
    run.called(call, **fields)
    found = line(run, "streams")
    assert (lacks(found), found.asked) == ([] if what is None else [(call, what)], 1)


@pytest.mark.parametrize(
    ("after", "state"), [(None, MET), ({}, NOT_MET), ({"isPart": True}, MET), ({"isPart": False}, NOT_MET)]
)
def test_the_run_finished(run: Writing, after: dict[str, object] | None, state: LineState) -> None:
    run.start()
    run.finish("error")
    if after is not None:
        run.emit(EventKind.RUN_RESUMED, after)
        run.emit(EventKind.RUN_LEFT, {"status": "ok"})
    assert line(run, "finished").state is state


def test_a_run_that_never_finished(run: Writing) -> None:
    run.start()
    assert lacks(line(run, "finished")) == [(None, "run.finished")]


def test_whatever_was_lost_is_named(run: Writing) -> None:
    strange = run.emit(EventKind.EVENT, raw=b"\xc1")
    loose = run.called("nobody")
    holder = run.checkpoint(state={"deep": [{"$artifact": "f" * 64, "bytes": 1}]})
    gone = run.call(request={"$artifact": "e" * 64, "bytes": 1})
    found = line(
        run,
        "complete",
        gaps=[Gap("w", 7, 9, lost=True)],
        damaged=["broken"],
        losses={"queue_full": 3},
        absent=["f" * 64],
    )
    assert lacks(found) == [
        (None, "events 7 to 9 of writer w"),
        (None, "3 events that their writer lost: queue_full"),
        ("broken", "the event itself: it cannot be read"),
        (strange, "its body: it cannot be read"),
        (loose, "what it ends or denies"),
        (holder, f"artifact {'f' * 64}"),
        (gone, f"artifact {'e' * 64}"),
    ]


def test_a_line_names_so_many_events_and_counts_all(run: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.runs.quality.lines.REPORT_EVENTS", 2)
    for _ in range(5):
        run.execute()
    found = line(run, "tool.side_effect")
    assert (len(found.lacks), found.count) == (2, 5)


def test_the_report_has_the_branch_points_too() -> None:
    found = reported(whole_run(), suspect="w0").branching
    assert [each.is_safe for each in found.points] == [True, True]
    assert found.suspect is not None


def test_a_run_of_ten_thousand_events_is_reported_in_no_time(run: Writing) -> None:
    for _ in range(2_000):
        call = run.call(request="Which?")
        proposal = run.propose(call=call)
        run.called(call)
        run.executed(run.execute(proposal=proposal))
    began = time.process_time()
    found = reported(run)
    assert time.process_time() - began < 1.5
    assert found.line("tool.side_effect").count == 2_000
