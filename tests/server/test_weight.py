"""Values are counted before any of them is made: small bytes cannot unfold to gigabytes."""

import datetime
import random
import struct
from typing import Any

import pytest

from capture.limits import FROZEN_VALUES
from capture.weight import count_values, light_fields
from capture_sdk.codec import packed
from capture_sdk.errors import RecordError
from capture_sdk.freeze import pack, repack
from capture_sdk.records import TurnKey, TurnRecord

NOW = datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)
VALUES: list[tuple[object, int]] = [
    *[(each, 1) for each in (None, True, 0, -1, 127, 128, 2**16, 2**32, 2**63, -(2**63), 2**80, 1.5)],
    *[("x" * length, 1) for length in (0, 31, 32, 255, 256, 65_536)],
    *[(b"x" * length, 1) for length in (0, 255, 256, 65_536)],
    *[([0] * length, length + 1) for length in (0, 15, 16, 65_535, 65_536)],
    *[({str(each): each for each in range(length)}, 2 * length + 1) for length in (0, 15, 16, 70_000)],
    ("half \ud83d", 1),
    ({"a": [1, {"b": [b"", "♠", []]}]}, 10),
]


@pytest.mark.parametrize(("value", "count"), VALUES, ids=lambda each: repr(each)[:20])
def test_every_kind_of_value_is_counted(value: object, count: int) -> None:
    assert count_values(repack(value), 1_000_000) == count


def test_counting_ends_at_the_limit() -> None:
    assert count_values(pack([0] * 1_000), 10) == 11


@pytest.mark.parametrize("data", [b"", b"\x91", b"\xdd\xff\xff\xff\xff", b"\x81\x00"])
def test_bytes_that_promise_more_than_they_hold_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError, match="end before their values"):
        count_values(data, 100)


def test_any_bytes_are_counted_or_refused() -> None:
    chance = random.Random(3)
    for _ in range(2_000):
        data = chance.randbytes(chance.randrange(1, 60))
        try:
            assert count_values(data, 1_000) >= 1
        except RecordError:
            continue


@pytest.mark.parametrize("part", ["knowledge", "decision", "unsent", "usage"])
def test_a_part_that_unfolds_to_gigabytes_is_refused_by_its_name(part: str) -> None:
    bomb: Any = {part: b"\xdd" + struct.pack(">I", FROZEN_VALUES) + b"\x90" * FROZEN_VALUES}
    record = TurnRecord(key=TurnKey("t", 1, "a", 1), captured_at=NOW, **bomb)
    with pytest.raises(RecordError, match=f"its {part} has more than"):
        light_fields(packed(record))


def test_a_map_that_unfolds_to_gigabytes_is_refused() -> None:
    with pytest.raises(RecordError, match="its record has more than"):
        light_fields(b"\x81\xa1x\xdd" + struct.pack(">I", 40_000_000) + b"\x90" * 40_000_000)
