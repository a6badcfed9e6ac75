"""Known and told, or known and not told: found where it stands, and only there."""

import math
import time
from typing import Any

import pytest

from capture_sdk.freeze import pack
from viewer.why.told import Told, ToldItem, told


def traced(knowledge: object, prompt: str | bytes) -> Told:
    found = told(pack(knowledge), prompt if isinstance(prompt, bytes) else prompt.encode())
    assert found is not None
    return found


def one(value: object, prompt: str | bytes) -> ToldItem:
    (item,) = traced({"it": value}, prompt).items
    return item


def is_told(value: object, prompt: str) -> bool:
    item = one(value, prompt)
    assert len(item.values) == 1
    return item.found == 1


def test_what_was_told_is_counted_by_item() -> None:
    knowledge = {"state": {"pot": 140, "board": ["K♠", "7♦"]}, "whispers": ["he bluffs"]}
    found = traced(knowledge, "Pot 140. Board K♠.\n")
    assert [(item.name, item.found, len(item.values)) for item in found.items] == [
        ("state", 2, 3),
        ("whispers", 0, 1),
    ]


def test_a_place_has_its_line_its_bytes_and_its_length() -> None:
    prompt = "é 1\nPot 140 here"
    (value,) = one(140, prompt).values
    assert value.place is not None
    assert (value.place.line, value.place.offset, value.place.length) == (2, 9, 3)
    assert prompt.encode()[9:12] == b"140"


def test_a_place_leads_to_its_line_in_its_part_of_the_prompt() -> None:
    prompt = b"base 140\nrules 250\n## Table\nstack 360"
    found = told(pack({"it": [140, 250, 360]}), prompt, remainder_at=prompt.index(b"##"))
    assert found is not None
    assert [value.place and value.place.anchor for value in found.items[0].values] == ["E1", "E2", "R2"]


@pytest.mark.parametrize(
    "prompt", ["pot 140.", "[140]", "$140", "140..200", "x=140,y", "[100,140]", "-140", "140"]
)
def test_a_number_is_found_as_a_token(prompt: str) -> None:
    assert is_told(140, prompt)


@pytest.mark.parametrize(
    "prompt", ["1400", "2140", "1,140 chips", "140,500", "3.140", "140.5", "x140", "140k", "v_140"]
)
def test_a_part_of_a_number_is_not_the_number(prompt: str) -> None:
    assert not is_told(140, prompt)


@pytest.mark.parametrize(
    ("number", "prompt"),
    [(12_500, "12,500"), (-35, "net -35"), (2.5, "2.5 bb"), (120.0, "raise 120"), (10**30, f"{10**30}")],
)
def test_numbers_are_known_in_the_ways_they_are_written(number: float, prompt: str) -> None:
    assert is_told(number, prompt)


@pytest.mark.parametrize(
    ("text", "prompt", "how"),
    [
        ("he bluffs", "note: he bluffs!", "verbatim"),
        ("he  bluffs\na lot", " so he bluffs a\n lot", "folded"),
        ('say "hi"\n', r'{"note": "say \"hi\"\n"}', "json"),
        ("café", r'"caf\u00e9"', "json"),
    ],
)
def test_a_text_is_found_as_it_is_folded_or_as_json(text: str, prompt: str, how: str) -> None:
    (value,) = one(text, prompt).values
    assert value.place is not None
    assert value.place.how == how


def test_a_folded_place_covers_what_it_found() -> None:
    prompt = b"\n  so  he\r\n\tbluffs a lot "
    (value,) = one("he bluffs a", prompt).values
    assert value.place is not None
    assert prompt[value.place.offset :][: value.place.length] == b"he\r\n\tbluffs a"


@pytest.mark.parametrize("prompt", ["unfolded", "fold_", "folds"])
def test_a_part_of_a_word_is_not_the_word(prompt: str) -> None:
    assert not is_told("fold", prompt)


def test_an_entry_that_stands_in_the_prompt_as_json_is_one_value() -> None:
    entry = {"agent": "maniac", "amount": 60}
    assert [value.path for value in one([entry], '- {"agent":"maniac","amount":60}').values] == ["it[0]"]
    apart = one([entry], "maniac bets 60").values
    assert [(value.path, value.place is not None) for value in apart] == [
        ("it[0].agent", True),
        ("it[0].amount", True),
    ]


@pytest.mark.parametrize(
    "value", [True, None, "x", " ", 7, -3, 0.0, b"bytes", "y" * 5_000, math.nan, math.inf, 10**2_000, []]
)
def test_what_would_say_nothing_is_not_looked_for(value: object) -> None:
    assert one(value, "x 7 y True").values == ()


@pytest.mark.parametrize(
    "odd", [{"$set": [1, 2]}, {1: "two"}, {"$tuple": 3}, {12, 13}, object(), "\ud800\u202e</pre>"]
)
def test_any_value_is_looked_for(odd: Any) -> None:
    assert one(odd, "prompt").found == 0


def test_bytes_that_are_not_text_can_be_searched() -> None:
    assert one("needle", b"\xff\xfe needle \x00").found == 1


def test_without_knowledge_or_prompt_nothing_is_claimed() -> None:
    assert told(None, b"") is None
    assert told(pack({}), None) is None
    assert traced({}, "").items == ()


HOSTILE = {
    "ten megabytes": (
        [f"value number {place} of it" for place in range(600)],
        b"lorem ipsum 10 20\n" * 600_000,
    ),
    "blanks": (["x y"] * 600, b"a " * 5_000_000),
    "digits": ([1010] * 600, b"1010" * 2_500_000),
    "many values": ([{"at": place} for place in range(10_000)], b"nothing"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_search_ends_in_time_and_says_what_it_left_out(name: str) -> None:
    value, prompt = HOSTILE[name]
    started = time.process_time()
    item = one(value, prompt)
    assert time.process_time() - started < 2
    assert item.not_looked_for >= 100
    assert len(item.values) + item.not_looked_for >= 600
