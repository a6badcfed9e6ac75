"""Where a replay can safely branch off; what was not captured makes a point neither safe nor unsafe."""

import time

import pytest

from capture.runs.branching import Branching, BranchPoint, Reason, Verdict, branching
from capture.runs.pairing import pair
from capture.runs.run import Gap
from capture_sdk.runs.records import EventKind
from tests.run_writing import Writing


@pytest.fixture
def run() -> Writing:
    return Writing()


def judged(run: Writing, **told: object) -> Branching:
    return branching(pair(run.events), **told)  # type: ignore[arg-type]


def point(run: Writing, **told: object) -> BranchPoint:
    return judged(run, **told).points[-1]


def why(found: BranchPoint) -> Reason:
    (reason,) = found.reasons
    return reason


def test_a_whole_state_with_nothing_before_it_is_safe(run: Writing) -> None:
    run.executed(run.execute(sideEffect="read"))
    run.checkpoint("before-tool")
    found = point(run)
    assert (found.is_safe, found.place, found.name, found.position) == (True, "before-tool", "point", 2)
    assert (
        why(found).text
        == "its state is whole, nothing irreversible lies before it, and nothing was under way"
    )


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({}, Verdict.UNSAFE),
        ({"state": {}, "isWhole": False}, Verdict.UNSAFE),
        ({"state": {}}, Verdict.CANNOT_SAY),
        ({"state": {}, "isWhole": "yes"}, Verdict.CANNOT_SAY),
        ({"state": None, "isWhole": True}, Verdict.SAFE),
    ],
)
def test_a_state_has_to_be_said_to_be_whole(
    run: Writing, fields: dict[str, object], verdict: Verdict
) -> None:
    run.emit(EventKind.CHECKPOINT, fields)
    assert point(run).verdict is verdict


def test_after_an_irreversible_execution_it_is_unsafe(run: Writing) -> None:
    execution = run.execute(sideEffect="irreversible")
    run.executed(execution, status="error")
    run.checkpoint()
    assert why(point(run)) == Reason(Verdict.UNSAFE, "irreversible executions lie before it", (execution,), 1)


@pytest.mark.parametrize("effect", [{}, {"sideEffect": "harmless"}])
def test_after_an_execution_of_unset_class_it_cannot_be_said(run: Writing, effect: dict[str, str]) -> None:
    execution = run.emit(EventKind.TOOL_STARTED, {"name": "t", **effect})
    run.executed(execution)
    run.checkpoint()
    found = point(run)
    assert (found.verdict, why(found).events) == (Verdict.CANNOT_SAY, (execution,))


def test_what_comes_after_does_not_matter(run: Writing) -> None:
    run.checkpoint()
    run.executed(run.execute(sideEffect="irreversible"))
    assert point(run).is_safe


def test_writes_before_it_are_told_of(run: Writing) -> None:
    execution = run.execute(sideEffect="write")
    run.executed(execution)
    run.checkpoint()
    found = point(run)
    assert found.is_safe
    assert found.reasons[1].events == (execution,)


def test_while_an_execution_is_under_way_it_is_unsafe(run: Writing) -> None:
    done, open_, never = (run.execute(sideEffect="read") for _ in range(3))
    run.executed(done)
    run.checkpoint()
    run.executed(open_)
    run.checkpoint()
    first, second = judged(run).points
    assert (first.verdict, why(first).events) == (Verdict.UNSAFE, (open_, never))
    assert why(second).events == (never,)


def test_the_worst_reason_decides_and_all_are_given(run: Writing) -> None:
    run.executed(run.execute())
    run.executed(run.execute(sideEffect="irreversible"))
    run.emit(EventKind.CHECKPOINT, {"state": 1})
    found = point(run)
    assert found.verdict is Verdict.UNSAFE
    assert [reason.verdict for reason in found.reasons] == ["cannot_say", "unsafe", "cannot_say"]


def test_another_writers_irreversible_execution_may_have_come_before(run: Writing) -> None:
    run.checkpoint()
    other = Writing(writer="v")
    execution = other.execute(sideEffect="irreversible")
    other.executed(execution)
    run.events.extend(other.events)
    assert why(point(run)).events == (execution,)


@pytest.mark.parametrize(
    ("gap", "verdict"),
    [
        (Gap("w", 0, 1, lost=True), Verdict.CANNOT_SAY),
        (Gap("w", 9, 9, lost=False), Verdict.SAFE),
        (Gap("v", 9, 9, lost=False), Verdict.CANNOT_SAY),
    ],
)
def test_what_is_missing_may_have_been_an_execution(run: Writing, gap: Gap, verdict: Verdict) -> None:
    run.start()
    run.checkpoint()
    found = point(run, gaps=[gap])
    assert found.verdict is verdict
    assert why(found).count == (0 if found.is_safe else gap.last - gap.first + 1)


def test_what_cannot_be_read_may_have_been_one_too(run: Writing) -> None:
    run.checkpoint()
    assert why(point(run, damaged=["x"])).events == ("x",)


def test_the_four_places_are_named_with_the_checkpoints_there(run: Writing) -> None:
    loaded = run.checkpoint("input.loaded")
    by_name = run.checkpoint(name="before-final")
    run.checkpoint("somewhere")
    places = judged(run).places
    assert [(each.place, each.events) for each in places] == [
        ("input.loaded", (loaded,)),
        ("before-tool", ()),
        ("after-tool", ()),
        ("before-final", (by_name,)),
    ]
    assert all(each.lets_test for each in places)


def warned(run: Writing, **told: object) -> list[str]:
    return [warning.text for warning in judged(run, **told).warnings]


def test_a_run_without_checkpoints_is_warned_of(run: Writing) -> None:
    run.called(run.call())
    assert warned(run) == ["there is no checkpoint: a replay can only begin anew"]


def test_checkpoints_at_the_end_alone_are_warned_of(run: Writing) -> None:
    run.called(run.call())
    run.checkpoint()
    run.checkpoint()
    assert warned(run) == ["all checkpoints lie at the end, after the last decision"]


def test_checkpoints_after_the_first_error_alone_are_warned_of(run: Writing) -> None:
    execution = run.execute()
    run.checkpoint()
    failed = run.executed(execution, status="error", error={"type": "E", "message": "m"})
    run.called(run.call())
    assert warned(run) == ["all checkpoints lie after the suspected cause (the first error)"]
    found = judged(run).suspect
    assert found is not None
    assert (found.event_id, found.position) == (failed, 0)


def test_checkpoints_after_the_first_denial_alone_are_warned_of(run: Writing) -> None:
    run.deny(run.propose())
    run.checkpoint()
    run.called(run.call())
    assert warned(run) == ["all checkpoints lie after the suspected cause (the first denial)"]


def test_a_suspect_can_be_named(run: Writing) -> None:
    first = run.emit(EventKind.EVENT, {"name": "odd"})
    run.checkpoint()
    later = run.call()
    assert warned(run, suspect=first) == ["all checkpoints lie after the suspected cause (named)"]
    assert warned(run, suspect=later) == []
    assert warned(run, suspect="nobody") == ["the suspected event is not one of this run's"]


def test_a_run_with_its_checkpoints_in_place_is_not_warned_of(run: Writing) -> None:
    run.start()
    run.checkpoint("input.loaded")
    run.executed(run.execute(), status="error")
    run.finish("error")
    assert warned(run) == []


def test_many_checkpoints_among_many_executions_are_judged_in_no_time(run: Writing) -> None:
    for _ in range(2_000):
        run.executed(run.execute(sideEffect="irreversible"))
        run.checkpoint()
    paired = pair(run.events)
    gaps = [Gap("w", number, number, lost=False) for number in range(0, 6_000, 3)]
    began = time.process_time()
    last = branching(paired, gaps=gaps).points[-1]
    assert time.process_time() - began < 1
    assert [(len(each.events), each.count) for each in last.reasons] == [(20, 2_000), (0, 2_000)]
