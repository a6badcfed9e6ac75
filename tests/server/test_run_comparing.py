"""Two runs side by side: which steps are the same, which changed and in what, which only one of them has."""

import random
import time

import pytest

from capture.runs.aligning import align
from capture.runs.comparing import Change, Comparison, compare
from capture.runs.inventory import inventory
from capture.runs.pairing import pair
from capture_sdk.runs.records import Artifact, EventKind, artifact_ref
from tests.run_writing import Writing

SAME, CHANGED, ADDED, REMOVED = Change.SAME, Change.CHANGED, Change.ADDED, Change.REMOVED


@pytest.fixture
def one() -> Writing:
    return Writing(writer="a")


@pytest.fixture
def other() -> Writing:
    return Writing(writer="b")


def compared(one: Writing, other: Writing) -> Comparison:
    left, right = pair(one.events), pair(other.events)
    return compare(left, right, (inventory(left, lambda _: None), inventory(right, lambda _: None)))


def told(found: Comparison) -> list[tuple[str, str | None, str | None]]:
    return [(row.change, row.one, row.other) for row in found.rows]


def asked(run: Writing, *, temperature: float = 0, output: str = "This.", **fields: object) -> str:
    call = run.call(settings={"temperature": temperature}, **fields)
    run.called(call, output=output)
    return call


def test_two_runs_that_did_the_same_are_the_same(one: Writing, other: Writing) -> None:
    for run in (one, other):
        run.start()
        call = asked(run)
        run.executed(run.execute(proposal=run.propose(call=call), sideEffect="read"))
        run.checkpoint("before-final")
        run.emit(EventKind.EVENT, {"name": "seen", "data": {"n": 1}})
        run.finish()
    found = compared(one, other)
    assert [(row.change, row.kind, row.name) for row in found.rows] == [
        (SAME, "model_call", "chat"),
        (SAME, "tool_proposal", "search"),
        (SAME, "tool_execution", "search"),
        (SAME, "checkpoint", "before-final"),
        (SAME, "event", "seen"),
    ]
    assert (found.counts["same"], found.is_cut, found.one == found.other) == (5, False, True)
    assert (found.items.same, found.items.rows) == (2, ())


def test_a_changed_step_names_the_fields_that_differ(one: Writing, other: Writing) -> None:
    asked(one)
    asked(other, temperature=1, output="That.", model="n")
    (row,) = compared(one, other).rows
    assert (row.change, row.fields) == (CHANGED, ("model", "settings", "output"))


def test_a_field_that_is_absent_is_not_one_that_is_nothing(one: Writing, other: Writing) -> None:
    one.executed(one.execute(sideEffect=None))
    other.executed(other.execute(), output=None)
    (row,) = compared(one, other).rows
    assert row.fields == ("sideEffect", "output")


def test_what_only_one_run_did_is_added_or_removed(one: Writing, other: Writing) -> None:
    first, extra, last = one.execute("a"), one.execute("b"), one.execute("c")
    theirs = [other.execute("a"), other.execute("c"), other.execute("d")]
    assert told(compared(one, other)) == [
        (SAME, first, theirs[0]),
        (REMOVED, extra, None),
        (SAME, last, theirs[1]),
        (ADDED, None, theirs[2]),
    ]


def test_a_step_put_in_between_leaves_the_identical_ones_together(one: Writing, other: Writing) -> None:
    mine = [one.execute(arguments={"n": n}) for n in (1, 2, 3)]
    theirs = [other.execute(arguments={"n": n}) for n in (9, 1, 2, 4)]
    assert told(compared(one, other)) == [
        (ADDED, None, theirs[0]),
        (SAME, mine[0], theirs[1]),
        (SAME, mine[1], theirs[2]),
        (CHANGED, mine[2], theirs[3]),
    ]


def test_a_denial_and_an_execution_change_a_proposal(one: Writing, other: Writing) -> None:
    one.deny(one.propose())
    other.execute(proposal=other.propose())
    row = compared(one, other).rows[0]
    assert (row.change, row.fields) == (CHANGED, ("denials", "executions"))


def test_an_artifact_is_equal_to_the_text_it_holds(one: Writing, other: Writing) -> None:
    text = b"This."
    sha256 = "a88a1c3ee62b0b2fd4d3f4ff1a1b6a8b" * 2
    one.emit(EventKind.EVENT, {"name": "n", "data": artifact_ref(Artifact(sha256, text, "text/plain"))})
    other.emit(EventKind.EVENT, {"name": "n", "data": artifact_ref(Artifact(sha256, text, "text/html"))})
    assert compared(one, other).rows[0].change is SAME


def test_maps_are_equal_whatever_the_order_of_their_keys(one: Writing, other: Writing) -> None:
    one.emit(EventKind.EVENT, {"name": "n", "data": {"a": 1, "b": True}})
    other.emit(EventKind.EVENT, {"name": "n", "data": {"b": True, "a": 1}})
    third = Writing(writer="c")
    third.emit(EventKind.EVENT, {"name": "n", "data": {"b": 1, "a": 1}})
    assert compared(one, other).rows[0].change is SAME
    assert compared(one, third).rows[0].change is CHANGED


def test_how_they_ended_stands_side_by_side(one: Writing, other: Writing) -> None:
    one.start()
    one.finish("error")
    other.start(name="appeal")
    other.finish()
    other.emit(EventKind.RUN_RESUMED, {})
    found = compared(one, other)
    assert [(each.name, each.status) for each in (found.one, found.other)] == [
        ("claim", "error"),
        ("appeal", "unfinished"),
    ]


def test_what_the_models_were_given_is_compared_by_path(one: Writing, other: Writing) -> None:
    mine = asked(one, request={"messages": [{"role": "user", "content": "Which?"}], "top_p": 1})
    theirs = asked(other, request={"messages": [{"role": "user", "content": "What?"}, "More."]})
    found = compared(one, other).items
    assert [(row.change, row.path, row.one_call, row.other_call) for row in found.rows] == [
        (CHANGED, "messages[0].content", mine, theirs),
        (REMOVED, "top_p", mine, None),
        (ADDED, "messages[1]", None, theirs),
    ]
    assert (found.same, found.changed, found.added, found.removed) == (1, 1, 1, 1)


def test_annotations_of_one_path_are_compared_in_their_order(one: Writing, other: Writing) -> None:
    for run, values in ((one, ("a", "b")), (other, ("a", "c", "d"))):
        for value in values:
            run.emit(EventKind.CONTEXT_ANNOTATED, {"kind": "memory", "path": "notes", "value": value})
    assert [row.change for row in compared(one, other).items.rows] == [CHANGED, ADDED]


def test_a_request_that_is_not_there_is_not_compared(one: Writing, other: Writing) -> None:
    mine, theirs = asked(one), asked(other, request=None)
    found = compared(one, other).items
    assert (found.unlisted, found.rows) == (((mine, theirs),), ())


def test_differing_items_beyond_the_limit_are_counted(
    one: Writing, other: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("capture.runs.comparing.COMPARED_ITEMS", 1)
    for run, text in ((one, "x"), (other, "y")):
        asked(run, request=[{"role": "user", "content": f"{text}{n}"} for n in range(3)])
    found = compared(one, other)
    assert (found.items.changed, len(found.items.rows), found.is_cut) == (3, 1, True)


def test_steps_beyond_the_limit_are_said_not_to_be_compared(
    one: Writing, other: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("capture.runs.aligning.COMPARED_STEPS", 2)
    for name in "abcdz":
        one.execute(name)
    for name in "efghiz":
        other.execute(name)
    found = compared(one, other)
    assert (found.left, found.is_cut) == ((2, 3), True)
    assert [row.name for row in found.rows if row.change is SAME] == ["z"]


@pytest.mark.parametrize("seed", range(20))
def test_an_alignment_has_every_step_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    one, other = ([chance.randrange(3) for _ in range(chance.randrange(30))] for _ in range(2))
    pairs = align(one, other, lambda left, right: (left + right) % 2 == 0).pairs
    assert [left for left, _ in pairs if left is not None] == list(range(len(one)))
    assert [right for _, right in pairs if right is not None] == list(range(len(other)))
    assert all(one[a] == other[b] for a, b in pairs if a is not None and b is not None)


def test_long_runs_that_differ_everywhere_are_compared_in_no_time(one: Writing, other: Writing) -> None:
    for run, text in ((one, "x"), (other, "y")):
        for number in range(1_000):
            run.executed(run.execute(arguments={"n": number}), output=text)
            asked(run, request="Which?")
    began = time.process_time()
    found = compared(one, other)
    assert time.process_time() - began < 1
    assert (found.counts["changed"], found.left) == (1_000, (0, 0))


def test_what_has_little_in_common_is_aligned_in_no_time() -> None:
    chance = random.Random(7)
    one, other = ([chance.randrange(3) for _ in range(20_000)] for _ in range(2))
    began = time.process_time()
    found = align(one, other, lambda left, right: False)
    assert time.process_time() - began < 1.5
    assert found.left[0] > 19_000
