"""What the agent knew is copied at the instant, whatever it is made of, and nothing of it is touched."""

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import math
import uuid
from typing import Any

import pytest

from capture_sdk.freeze import jsonable, pack, pack_items, unpack


class Street(enum.Enum):
    FLOP = "flop"


@dataclasses.dataclass
class Pot:
    chips: int
    sides: tuple[int, ...] = ()


@dataclasses.dataclass(slots=True)
class Slotted:
    chips: int


Blind = collections.namedtuple("Blind", "small big")


class Shout(str):
    def __str__(self) -> str:
        raise AssertionError("a subclass's own methods must not run")


class Sly:
    """Whatever is asked of it is a side effect."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was read")

    def __repr__(self) -> str:
        raise AssertionError("repr ran")


WIDE = 2**200 + 1
PLAIN: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    WIDE,
    -WIDE,
    1.5,
    "",
    "kæmpe ♠",
    "nul\x00",
    "half \ud83d",
    b"\xff\x00",
    [],
    {},
]
FORMS = [
    ((1, (2,)), {"$tuple": [1, {"$tuple": [2]}]}),
    ({3, 1, 2}, {"$set": [1, 2, 3]}),
    (frozenset({"a"}), {"$frozenset": ["a"]}),
    (decimal.Decimal("1.10"), {"$decimal": "1.10"}),
    (uuid.UUID(int=5), {"$uuid": "00000000-0000-0000-0000-000000000005"}),
    (datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), {"$datetime": "2026-01-02T00:00:00+00:00"}),
    (datetime.timedelta(days=1, microseconds=2), {"$timedelta": [1, 0, 2]}),
    (Street.FLOP, {"$enum": [f"{__name__}.Street", "FLOP", "flop"]}),
    (Pot(3, (1,)), {"$dataclass": [f"{__name__}.Pot", {"chips": 3, "sides": {"$tuple": [1]}}]}),
    (Slotted(7), {"$dataclass": [f"{__name__}.Slotted", {"chips": 7}]}),
    (Blind(1, 2), {"$namedtuple": [f"{__name__}.Blind", {"small": 1, "big": 2}]}),
    (ValueError("no", 3), {"$exception": ["builtins.ValueError", ["no", 3]]}),
    (Shout("hey"), {"$subclass": [f"{__name__}.Shout", "hey"]}),
    ({1: "a", "1": "b"}, {"$dict": [[1, "a"], ["1", "b"]]}),
    ({"$set": [1]}, {"$dict": [["$set", [1]]]}),
    (Sly(), {"$object": f"{__name__}.Sly"}),
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_a_plain_value_comes_back_as_it_was(value: object) -> None:
    assert unpack(pack(value)) == value


@pytest.mark.parametrize(("value", "form"), FORMS, ids=lambda case: type(case).__name__)
def test_what_json_lacks_has_a_written_form(value: object, form: object) -> None:
    assert unpack(pack(value)) == form
    assert unpack(pack({"beside": [value, 1]})) == {"beside": [form, 1]}


def test_a_form_cannot_be_forged_by_the_users_own_dict() -> None:
    assert unpack(pack([{"$set": [1]}])) != unpack(pack([{1}]))


def test_numbers_that_json_refuses_are_written_out() -> None:
    frozen = unpack(pack([math.nan, math.inf, -math.inf]))
    assert jsonable(frozen) == [{"$float": "nan"}, {"$float": "inf"}, {"$float": "-inf"}]


def test_every_digit_of_an_integer_reaches_the_json() -> None:
    assert json.loads(json.dumps(jsonable(unpack(pack([WIDE, 2**53 + 1]))))) == [WIDE, 2**53 + 1]


def test_an_integer_too_long_to_print_is_written_in_hex() -> None:
    giant = 10**6_000
    assert jsonable(unpack(pack(giant))) == {"$int": hex(giant)}


def test_a_generator_is_named_and_not_consumed() -> None:
    source = iter(["first", "second"])
    assert unpack(pack({"lazy": source})) == {"lazy": {"$object": "builtins.list_iterator"}}
    assert next(source) == "first"


def test_a_lazy_object_is_not_evaluated() -> None:
    from django.utils.functional import SimpleLazyObject

    def explode() -> dict[str, int]:
        raise AssertionError("it was evaluated")

    assert unpack(pack([SimpleLazyObject(explode)])) == [
        {"$object": "django.utils.functional.SimpleLazyObject"}
    ]


def test_a_cycle_is_cut_where_it_closes() -> None:
    log: list[object] = [1]
    log.append(log)
    assert unpack(pack({"log": log, 5: 5})) == {"$dict": [["log", [1, {"$cut": "cycle"}]], [5, 5]]}


def test_the_same_object_twice_is_not_a_cycle() -> None:
    card = {"rank": "K"}
    assert unpack(pack(([card, card],))) == {"$tuple": [[card, card]]}


def test_depth_is_cut_and_marked() -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    assert "depth" in json.dumps(jsonable(unpack(pack({1: deep}))))
    assert "depth" in json.dumps(jsonable(unpack(pack(deep))))


def test_what_is_too_large_is_cut_with_its_size() -> None:
    assert unpack(pack("x" * 100, limit=50)) == {"$cut": "size: 102 bytes"}


def test_one_strange_value_costs_its_neighbours_nothing() -> None:
    frozen = unpack(pack_items({"fine": [1, 2], "strange": Sly(), "also fine": "♠"}))
    assert frozen == {"fine": [1, 2], "strange": {"$object": f"{__name__}.Sly"}, "also fine": "♠"}


def test_a_name_with_half_a_surrogate_pair_is_kept() -> None:
    assert unpack(pack_items({"half \ud83d": 1, "b": 2})) == {"$dict": [["half \ud83d", 1], ["b", 2]]}


def test_equal_sets_freeze_to_equal_bytes() -> None:
    assert pack({"b", "a", "c"}) == pack({"c", "b", "a"})


@pytest.mark.parametrize("count", [0, 15, 16, 70_000])
def test_any_number_of_items_can_be_frozen(count: int) -> None:
    items = {f"k{number}": number for number in range(count)}
    assert unpack(pack_items(items)) == items


def test_nothing_done_afterwards_shows() -> None:
    state = {"board": ["Ks"], "pot": {"chips": 10}}
    frozen = pack(state)
    state["board"].append("7d")  # type: ignore[attr-defined]
    assert unpack(frozen) == {"board": ["Ks"], "pot": {"chips": 10}}
