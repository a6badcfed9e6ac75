"""The way from one sequence to another, and what two texts share."""

import random
import time
from typing import Any

import pytest

from viewer.why.edits import stretches
from viewer.why.shared import shared_prefix, shared_suffix


def rebuilt(before: Any, after: Any, most: int) -> list[Any]:
    """The later sequence, put together from what stayed of the earlier one and what was added."""
    whole: list[Any] = []
    for each in stretches(before, after, most=most):
        whole += before[each.start : each.end] if each.is_same else after[each.to_start : each.to_end]
    return whole


@pytest.mark.parametrize("seed", range(200))
def test_what_stayed_and_what_was_added_make_the_later_sequence(seed: int) -> None:
    dice = random.Random(seed)
    before, after = (dice.choices("abc", k=dice.randrange(12)) for _ in range(2))
    assert rebuilt(before, after, 100) == after
    assert rebuilt(before, after, 2) == after


def test_the_way_is_the_shortest() -> None:
    found = stretches("ABCABBA", "CBABAC", most=10)
    assert sum(each.end - each.start for each in found if each.is_same) == 4


def test_too_many_edits_are_one_change() -> None:
    (only,) = stretches("abcdef", "uvwxyz", most=3)
    assert (only.is_same, only.end, only.to_end) == (False, 6, 6)


def test_nothing_and_nothing_have_no_stretch() -> None:
    assert stretches("", "", most=3) == []


def test_hostile_sequences_cost_no_more_than_the_bound() -> None:
    started = time.process_time()
    stretches("ab" * 2_000, "ba" * 1_000 + "b" * 2_000, most=400)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("one", "other", "prefix", "suffix"),
    [("", "", 0, 0), ("a", "a", 1, 0), ("aXa", "aYa", 1, 1), ("aa", "aaa", 2, 0), ("ab", "b", 0, 1)],
)
def test_shared_ends_never_overlap(one: str, other: str, prefix: int, suffix: int) -> None:
    assert shared_prefix(one, other) == prefix
    assert shared_suffix(one, other, beyond=prefix) == suffix


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 200_000])
def test_shared_ends_are_exact_at_every_size(size: int) -> None:
    one, other = b"a" * size + b"X" + b"b" * size, b"a" * size + b"Y" + b"b" * size
    assert shared_prefix(one, other) == size
    assert shared_suffix(one, other, beyond=size) == size
