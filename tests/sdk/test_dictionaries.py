"""An earlier turn as dictionary: one shared blob, never a chain, and byte-identical or said to be gone."""

from typing import Any

import pytest

from capture_sdk import RecordError
from capture_sdk.codec import Dictionary, decode, dictionary_hash, encode, frame_with, packed, standalone
from capture_sdk.dictionaries import Dictionaries
from tests.build import Seat, memory_client


def records(count: int, **options: Any) -> list[Any]:
    client, transport = memory_client()
    at = Seat(client)
    for index in range(count):
        at.play(index, response=f"raise {index} ♠ \ud83d\x00" * 20, **options)
    return transport.records()


def test_sixteen_turns_share_one_dictionary_and_depend_on_nothing_else() -> None:
    dictionaries = Dictionaries()
    every = records(40)
    framed = [dictionaries.frame("a", packed(each)) for each in every]
    assert len({needed for _, needed, _ in framed}) == 3
    for record, (data, needed, blob) in zip(every, framed, strict=True):
        assert dictionary_hash(data) == needed
        assert packed(decode(data, dictionary=blob)) == packed(record)


def test_agents_have_dictionaries_of_their_own() -> None:
    dictionaries = Dictionaries()
    one, two = records(2)
    assert dictionaries.frame("a", packed(one))[1] != dictionaries.frame("b", packed(two))[1]


def test_a_turn_with_a_dictionary_takes_a_fraction_of_one_without() -> None:
    first, second = records(2, knowledge={"log": [f"seat {n} bets {n * 37 % 101}" for n in range(300)]})
    dictionary = Dictionary(packed(first))
    assert len(frame_with(dictionary, packed(second))) * 5 < len(encode(second))


def test_a_wrong_or_damaged_dictionary_is_an_error_and_never_other_bytes() -> None:
    first, second, third = records(3)
    data = frame_with(Dictionary(packed(first)), packed(second))
    right, wrong = Dictionary(packed(first)).stored, Dictionary(packed(third)).stored
    assert decode(data, dictionary=right).response == second.response
    for given, complaint in ((None, "has gone"), (wrong, "damaged"), (right[:-9], "cut short|damaged")):
        with pytest.raises(RecordError, match=complaint):
            decode(data, dictionary=given)


def test_a_flipped_byte_anywhere_is_an_error_or_changes_nothing() -> None:
    first, second = records(2)
    dictionary = Dictionary(packed(first))
    data = frame_with(dictionary, packed(second))
    for place in range(1, len(data), 3):
        damaged = bytearray(data)
        damaged[place] ^= 0x10
        try:
            read = decode(bytes(damaged), dictionary=dictionary.stored)
        except RecordError:
            continue
        assert packed(read) == packed(second)


def test_made_standalone_it_is_the_same_record() -> None:
    first, second = records(2)
    dictionary = Dictionary(packed(first))
    alone = standalone(frame_with(dictionary, packed(second)), dictionary.stored)
    assert dictionary_hash(alone) is None
    assert packed(decode(alone)) == packed(second)


def test_a_very_large_record_stands_alone() -> None:
    (record,) = records(1, knowledge={"log": [f"x{n * n}" for n in range(40_000)]})
    data, needed, _ = Dictionaries().frame("a", packed(record))
    assert needed is None
    assert packed(decode(data)) == packed(record)
