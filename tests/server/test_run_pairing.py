"""Which events of a run belong together is told by the ids they name, and by nothing else."""

import time
from dataclasses import replace

import pytest

from capture.runs.pairing import Moment, Paired, Proposal, pair
from capture_sdk.runs.records import EventKind
from tests.run_writing import Writing


@pytest.fixture
def run() -> Writing:
    return Writing()


def ids(moments: tuple[Moment, ...]) -> list[str]:
    return [each.event_id for each in moments]


def only(paired: Paired) -> Proposal:
    (proposal,) = paired.proposals
    return proposal


def test_a_call_has_its_finish_and_the_tools_it_proposed(run: Writing) -> None:
    call = run.call()
    proposals = [run.propose(call=call), run.propose(call=call)]
    end = run.called(call)
    (found,) = pair(run.events).calls
    assert (found.event_id, ids(found.proposals)) == (call, proposals)
    assert (found.finish and found.finish.event_id, found.status, found.duration_ms) == (end, "ok", 30)


def test_a_call_that_nothing_ended_is_open(run: Writing) -> None:
    run.call()
    (found,) = pair(run.events).calls
    assert found.is_open
    assert (found.finish, found.status, found.duration_ms) == (None, None, None)


def test_of_several_finishes_the_first_counts_and_the_others_are_listed(run: Writing) -> None:
    call = run.call()
    first, second = run.called(call, status="error"), run.called(call)
    (found,) = pair(run.events).calls
    assert (found.finish and found.finish.event_id, found.status) == (first, "error")
    assert ids(found.repeats) == [second]


def test_a_finish_before_its_start_in_the_order_still_ends_it(run: Writing) -> None:
    end = run.called("w1")
    call = run.call()
    (found,) = pair(run.events).calls
    assert (found.event_id, found.finish and found.finish.event_id) == (call, end)
    assert found.duration_ms is None


@pytest.mark.parametrize(
    "kind", [EventKind.MODEL_CALL_FINISHED, EventKind.TOOL_FINISHED, EventKind.TOOL_DENIED]
)
@pytest.mark.parametrize("named", ["nobody", 7, ["w0"], None])
def test_what_names_nothing_that_is_there_is_loose(run: Writing, kind: str, named: object) -> None:
    run.start()
    found = run.emit(kind, {"call": named, "execution": named, "proposal": named})
    assert ids(pair(run.events).loose) == [found]


def test_a_finish_of_another_kind_pairs_with_nothing(run: Writing) -> None:
    call, execution = run.call(), run.execute()
    wrong = [run.executed(call), run.called(execution)]
    paired = pair(run.events)
    assert ids(paired.loose) == wrong
    assert paired.calls[0].is_open
    assert paired.executions[0].is_open


def test_an_execution_names_its_proposal(run: Writing) -> None:
    proposals = [run.propose(callId="c"), run.propose(callId="c")]
    execution = run.execute(proposal=proposals[1], callId="c")
    paired = pair(run.events)
    assert [len(each.executions) for each in paired.proposals] == [0, 1]
    assert paired.proposals[1].executions[0].event_id == execution
    assert not paired.unproposed


def test_an_execution_without_that_goes_by_its_call_id(run: Writing) -> None:
    run.propose(callId="c1")
    run.propose(callId="c2")
    run.execute(callId="c2")
    assert [len(each.executions) for each in pair(run.events).proposals] == [0, 1]


def test_a_call_id_that_several_proposals_share_decides_nothing(run: Writing) -> None:
    proposals = [run.propose(callId="call_0"), run.propose(callId="call_0")]
    run.execute(callId="call_0")
    (execution,) = pair(run.events).unproposed
    assert ids(execution.candidates) == proposals
    assert len(pair(run.events).unexecuted) == 2


def test_an_execution_that_names_an_absent_proposal_does_not_fall_back(run: Writing) -> None:
    run.propose(callId="c")
    run.execute(proposal="elsewhere", callId="c")
    assert len(pair(run.events).unproposed) == 1


def test_a_name_never_pairs(run: Writing) -> None:
    run.propose("search")
    run.execute("search")
    paired = pair(run.events)
    assert (len(paired.unproposed), len(paired.unexecuted)) == (1, 1)
    assert paired.executions[0].candidates == ()


@pytest.mark.parametrize("fields", [{}, {"callId": ""}])
def test_an_empty_call_id_names_nothing(run: Writing, fields: dict[str, str]) -> None:
    run.propose(callId="")
    run.emit(EventKind.TOOL_STARTED, fields)
    assert len(pair(run.events).unproposed) == 1


def test_a_proposal_keeps_its_denials_and_every_execution(run: Writing) -> None:
    proposal = run.propose()
    denials = [run.deny(proposal), run.deny(proposal)]
    executions = [run.execute(proposal=proposal), run.execute(proposal=proposal)]
    found = only(pair(run.events))
    assert ids(found.denials) == denials
    assert [each.event_id for each in found.executions] == executions


def test_a_denied_proposal_was_not_executed(run: Writing) -> None:
    proposal = run.propose()
    run.deny(proposal)
    (found,) = pair(run.events).unexecuted
    assert (found.event_id, len(found.denials)) == (proposal, 1)


@pytest.mark.parametrize("effect", [None, "irreversible", "launch"])
def test_a_side_effect_is_as_its_caller_said(run: Writing, effect: str | None) -> None:
    run.execute(**({} if effect is None else {"sideEffect": effect}))
    assert pair(run.events).executions[0].side_effect == effect


def test_every_event_is_in_one_list_and_keeps_its_place(run: Writing) -> None:
    run.start()
    call = run.call()
    run.executed(run.execute(proposal=run.propose(call=call)))
    run.called(call)
    run.called("nobody")
    run.checkpoint()
    run.emit(EventKind.CONTEXT_ANNOTATED, {"kind": "memory", "path": "notes"})
    run.emit(EventKind.EVENT, {"name": "seen"})
    strange = run.emit("robot.moved", {"to": [1, 2]})
    run.finish()
    paired = pair(run.events)
    assert [each.place for each in paired.moments] == list(range(len(run.events)))
    assert ids(paired.unknown) == [strange]
    assert [len(each) for each in (paired.frame, paired.loose, paired.checkpoints)] == [2, 1, 1]
    assert [len(each) for each in (paired.annotations, paired.events)] == [1, 1]


def test_a_body_that_does_not_read_costs_only_itself(run: Writing) -> None:
    run.emit(EventKind.MODEL_CALL_STARTED, raw=b"\xc1")
    run.emit(EventKind.MODEL_CALL_STARTED, raw=b"\x07")
    call = run.call()
    first, second, third = pair(run.events).calls
    assert (first.start.is_readable, first.start.fields) == (False, {})
    assert second.start.fields == {"value": 7}
    assert third.event_id == call


def test_a_clock_that_went_back_tells_no_duration(run: Writing) -> None:
    execution = run.execute()
    run.emit(EventKind.TOOL_FINISHED, {"execution": execution}, at_ms=-5)
    assert pair(run.events).executions[0].duration_ms is None


def test_two_writers_clocks_tell_no_duration(run: Writing) -> None:
    execution = run.execute()
    other = Writing(writer="v")
    other.executed(execution)
    (found,) = pair([*run.events, *other.events]).executions
    assert not found.is_open
    assert found.duration_ms is None


def test_times_with_and_without_a_zone_tell_no_duration(run: Writing) -> None:
    run.executed(run.execute())
    first, second = run.events
    naive = replace(second, at=second.at.replace(tzinfo=None))
    assert pair([first, naive]).executions[0].duration_ms is None


def test_twenty_thousand_events_are_paired_in_no_time(run: Writing) -> None:
    for _ in range(4_000):
        call = run.call()
        proposal = run.propose(call=call)
        run.called(call)
        run.executed(run.execute(proposal=proposal))
    began = time.process_time()
    paired = pair(run.events)
    taken = time.process_time() - began
    assert len(paired.moments) == 20_000
    assert (paired.unproposed, paired.unexecuted, paired.loose) == ((), (), ())
    assert taken < 1.5
