"""A long text, a window at a time."""

import re

import pytest

from capture.limits import FIND_COUNTED, WINDOW_BYTES, WINDOW_LINES
from viewer.finder import Finder
from viewer.windows import Window, line_start, whole_character, window

TEXTS = {
    "lines": b"".join(b"%d: a line of some length\n" % number for number in range(20_000)),
    "one line": b"x" * 300_000,
    "no ascii": "♠é".encode() * 60_000,
    "only line ends": b"\n" * 30_000,
    "long and short": (b"y" * 70_000 + b"\n" + b"z\n" * 40) * 5,
    "no text": b"\xff\xfe\x80" * 50_000,
}


def shown(at: Window) -> str:
    return "\n".join("".join(piece.text for piece in line.pieces) for line in at.lines)


def walk(text: bytes) -> list[Window]:
    at: list[Window] = [window(text)]
    while at[-1].behind is not None:
        at.append(window(text, at=at[-1].behind))
    return at


@pytest.mark.parametrize("name", TEXTS)
def test_window_after_window_the_whole_text_comes_once(name: str) -> None:
    text = TEXTS[name]
    every = walk(text)
    assert b"".join(text[each.start : each.end] for each in every) == text
    assert len(every) > 1
    for each in every:
        assert each.end - each.start <= WINDOW_BYTES + 4
        assert len(each.lines) <= WINDOW_LINES + 1
        assert each.lines[0].number == text.count(b"\n", 0, each.start) + 1
        assert each.line_count == text.count(b"\n") + 1


@pytest.mark.parametrize("name", TEXTS)
def test_backwards_the_whole_text_comes_without_a_gap(name: str) -> None:
    text = TEXTS[name]
    at = window(text, at=window(text).last)
    assert at.end == len(text)
    while at.before is not None:
        earlier = window(text, at=at.before)
        assert earlier.start < at.start <= earlier.end
        at = earlier
    assert at.start == 0


def test_what_is_shown_is_the_text() -> None:
    text = "a\nb ♠\n\nlast".encode()
    at = window(text)
    assert [(line.number, "".join(piece.text for piece in line.pieces)) for line in at.lines] == [
        (1, "a"),
        (2, "b ♠"),
        (3, ""),
        (4, "last"),
    ]
    assert (at.is_part, at.before, at.behind, at.last) == (False, None, None, None)
    assert [line.number for line in window(b"ends with one\n").lines] == [1, 2]
    assert [line.pieces for line in window(b"").lines] == [()]


def test_a_place_in_a_short_line_is_shown_from_the_lines_beginning_and_marked() -> None:
    text = b"first\n" * 50_000 + b"Pot 140 here\n" + b"after\n" * 50_000
    place = text.index(b"140")
    at = window(text, at=place, marked=3)
    assert at.lines[0].number == 50_001
    assert [(piece.text, piece.is_found) for piece in at.lines[0].pieces] == [
        ("Pot ", False),
        ("140", True),
        (" here", False),
    ]


def test_a_place_within_a_long_line_is_shown_with_what_stands_before_it() -> None:
    text = b"x" * 1_000_000 + b"needle" + b"y" * 1_000_000
    at = window(text, find="needle")
    assert at.start < 1_000_000 < at.end
    assert at.lines[0].skipped == at.start > 990_000
    assert [piece.text for piece in at.lines[0].pieces if piece.is_found] == ["needle"]


def test_what_is_looked_for_is_counted_in_the_whole_and_leads_on_both_ways() -> None:
    text = (b"z" * 79 + b"\n") * 10_000
    found = bytearray(text)
    for place in (100, 300_000, 500_000, 799_000):
        found[place : place + 5] = b"River"
    at = window(bytes(found), at=400_000, find="rIVER")
    assert (at.found, at.found_before, at.found_behind) == (4, 300_000, 500_000)
    assert at.found_lines == 0
    first = window(bytes(found), find="river")
    assert (first.found_before, first.found_behind, first.found_lines) == (None, 300_000, 1)


def test_letters_beyond_ascii_are_found_in_capitals_too_and_marks_of_a_pattern_are_letters() -> None:
    assert Finder("Über ÜBER über".encode(), "über").count == 3
    assert Finder(b"a.c abc (x)*", "a.c").count == 1
    assert Finder(b"(x)* \xff(X)*", "(x)*").count == 2


def test_more_matches_than_are_counted_are_over() -> None:
    assert Finder(b"e" * 50_000, "e").count == FIND_COUNTED + 1


def test_a_match_beyond_the_last_step_back_is_found() -> None:
    text = b"needle" + b"x" * 200_000
    assert Finder(text, "needle").previous(200_000) == 0
    assert Finder(b"x" * 65_534 + b"needle" + b"x" * 65_536, "needle").previous(131_076) == 65_534
    assert Finder(text, "nothing").previous(200_000) is None


def test_an_invisible_match_is_marked_by_its_name() -> None:
    (line,) = window("a\u202eb".encode(), find="\u202e").lines
    assert [(piece.text, piece.is_found) for piece in line.pieces] == [
        ("a", False),
        ("U+202E", True),
        ("b", False),
    ]


def test_a_run_of_the_same_invisible_character_is_one_mark() -> None:
    (line,) = window(b"\x00" * 60_000).lines
    assert [piece.text for piece in line.pieces] == ["U+0000 ×60,000"]


def test_a_line_begins_where_its_number_says() -> None:
    text = b"one\ntwo\n\nfour"
    assert [line_start(text, number) for number in (0, 1, 2, 3, 4, 99)] == [0, 0, 4, 8, 9, 9]


def test_no_character_is_cut() -> None:
    text = "é".encode() * 10
    assert [whole_character(text, place) for place in (0, 1, 2, 19, 20)] == [0, 2, 2, 20, 20]
    assert not re.search(r"\\x", shown(window("é".encode() * 100_000, at=100_001)))
