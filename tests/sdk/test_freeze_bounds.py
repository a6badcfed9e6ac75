"""Whatever an agent knows: bounded, without side effects, and what was true at the call."""

import dataclasses
import threading
import time
from typing import Any

import attrs
import numpy as np
import pydantic
import pytest

from capture_sdk import forms
from capture_sdk.freeze import pack, settle, snapshot, snapshot_items, unpack


class Model(pydantic.BaseModel):
    chips: int = 3
    notes: dict[str, Any] = {}


@attrs.define
class Attrs:
    chips: int = 3


@dataclasses.dataclass(slots=True)
class Base:
    chips: int


@dataclasses.dataclass(slots=True)
class Derived(Base):
    seat: int


@dataclasses.dataclass
class Lazy:
    chips: int

    @property
    def pot(self) -> int:
        raise AssertionError("a property ran")


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Model(notes={"a": 1}), {"$pydantic": [f"{__name__}.Model", {"chips": 3, "notes": {"a": 1}}]}),
        (Attrs(5), {"$attrs": [f"{__name__}.Attrs", {"chips": 5}]}),
        (Derived(1, 2), {"$dataclass": [f"{__name__}.Derived", {"chips": 1, "seat": 2}]}),
        (Lazy(1), {"$dataclass": [f"{__name__}.Lazy", {"chips": 1}]}),
        (np.arange(4).reshape(2, 2), {"$ndarray": ["<i8", [2, 2], [[0, 1], [2, 3]]]}),
        (np.float32(1.5), {"$numpy": ["<f4", 1.5]}),
        (np.int64(7), {"$numpy": ["<i8", 7]}),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_structures_are_read_by_their_stored_fields(value: object, form: object) -> None:
    assert unpack(pack(value)) == form
    assert pack(value) == pack(value)


def test_a_large_array_keeps_its_type_and_shape() -> None:
    assert unpack(pack(np.zeros((1_000, 1_000)))) == {
        "$ndarray": ["<f8", [1_000, 1_000], {"$cut": "size: 8000000 bytes"}]
    }


HUGE: dict[str, Any] = {
    "a flat list": lambda: [1] * 10_000_000,
    "a nested one": lambda: {"a": {"b": {"c": [(n,) for n in range(300_000)]}}},
    "long texts": lambda: {"a": ["x" * 100] * 2_000_000},
    "odd keys": lambda: {n: n for n in range(500_000)},
    "one text": lambda: "x" * 50_000_000,
    "a set": lambda: set(range(600_000)),
}


@pytest.mark.parametrize("kind", list(HUGE))
def test_work_is_bounded_and_the_cut_is_marked(kind: str) -> None:
    value = HUGE[kind]()
    snapshot("x" * 300_000)  # from the first large value of a process on, values are looked at before
    started = time.process_time()
    packed = settle(*snapshot(value))
    assert (
        time.process_time() - started < 1.0
    )  # [100 ms] by the clock inside; a busy machine is forgiven the rest
    assert len(packed) <= forms.MAX_BYTES * 2
    assert b"$cut" in packed


def test_a_cut_keeps_what_came_before_it() -> None:
    snapshot("x" * 300_000)
    left = unpack(settle(*snapshot({"pot": 3, "log": [[n] for n in range(400_000)]})))
    assert isinstance(left, dict)
    assert left["pot"] == 3
    assert left["log"][0] == [0]
    assert "more" in left["log"][-1]["$cut"]


def test_a_user_value_that_looks_like_a_form_is_escaped_later_and_comes_to_the_same() -> None:
    value = {"a": {"$set": [1]}, "b": [{"$cut": "x"}]}
    packed, unsettled = snapshot_items(value)  # type: ignore[arg-type]
    assert unsettled
    left: Any = unpack(settle(packed, unsettled))
    assert left["a"] == {"$dict": [["$set", [1]]]}
    assert left == unpack(pack(value))


def test_another_thread_may_change_the_objects_all_the_while() -> None:
    stop = threading.Event()
    state: dict[str, Any] = {"log": [], "seats": {}, "odd": {1, 2}}

    def meddle() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            state["log"].append({"n": number})
            state["seats"][number % 50] = number
            state["odd"].add(number % 40)
            state["odd"].discard((number * 7) % 40)
            del state["log"][:-30]

    thread = threading.Thread(target=meddle)
    thread.start()
    try:
        for _ in range(300):
            left = unpack(settle(*snapshot_items(dict(state))))
            assert isinstance(left, dict)
            assert set(left) == {"log", "seats", "odd"}
    finally:
        stop.set()
        thread.join()


def test_nothing_done_to_the_objects_after_the_call_shows() -> None:
    inner = {"pot": [1, {"deep": {1, 2}}]}
    packed, unsettled = snapshot_items({"state": inner})
    inner["pot"].append("later")
    inner["pot"][1]["deep"].add(3)  # type: ignore[index]
    assert unpack(settle(packed, unsettled)) == {"state": {"pot": [1, {"deep": {"$set": [1, 2]}}]}}
