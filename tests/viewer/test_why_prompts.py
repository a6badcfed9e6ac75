"""Two prompts beside each other: byte-exact, bounded, and nothing invisible stays so."""

import os
import time

import pytest

from viewer.why.prompts import DiffRow, PromptDiff, prompt_diff

ENVELOPE = b"You are a careful poker player.\n" * 100


def marked(row: DiffRow) -> str:
    """A row as text, its changes in braces and its marks in brackets."""
    sign = {"removed": "-", "added": "+", "same": " "}.get(row.kind, "~")
    shown = [f"[{each.mark}]" if each.mark else each.text for each in row.spans]
    spans = zip(row.spans, shown, strict=True)
    return sign + "".join(f"{{{text}}}" if each.is_changed else text for each, text in spans)


def changed(found: PromptDiff) -> list[str]:
    return [marked(row) for row in found.rows if row.kind in ("removed", "added")]


def test_identical_prompts_say_so() -> None:
    found = prompt_diff(ENVELOPE, ENVELOPE)
    assert found.is_same
    assert found.rows == ()
    assert found.sentence == "Both prompts are the same, to the last of 3,200 bytes."


def test_empty_prompts_are_the_same() -> None:
    assert prompt_diff(b"", b"").is_same


def test_where_they_part_is_said_to_the_byte() -> None:
    found = prompt_diff(ENVELOPE + b"Pot 140.\nEnd", ENVELOPE + b"Pot 160.\nEnd")
    assert (found.prefix, found.suffix) == (3_205, 6)
    assert (
        "The first 3,205 bytes are the same: that is where a provider's prompt cache ends." in found.sentence
    )
    assert "1 of 3,212 bytes became 1 of 3,212" in found.sentence


def test_only_the_characters_that_changed_are_marked() -> None:
    assert changed(prompt_diff(b"a\nPot 140.\nb\n", b"a\nPot 160.\nb\n")) == ["-Pot 1{4}0.", "+Pot 1{6}0."]


def test_unchanged_stretches_are_folded_with_their_lines() -> None:
    found = prompt_diff(ENVELOPE + b"x\n" + ENVELOPE, ENVELOPE + b"y\n" + ENVELOPE)
    assert [row.lines for row in found.rows if row.kind == "fold"] == [97, 97]
    assert [row.kind for row in found.rows].count("same") == 6


def test_lines_have_their_numbers_in_both() -> None:
    found = prompt_diff(b"a\nb\nc\n", b"a\nnew\nb\nc\n")
    assert [(row.before, row.after) for row in found.rows] == [(1, 1), (None, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (b"pot\r", b"pot", ["-pot{\r}", "+pot"]),
        (b"pot  ", b"pot", ["-pot{[2 × U+0020]}", "+pot"]),
        (b"pot\t", b"pot ", ["-pot{[U+0009]}", "+pot{[U+0020]}"]),
        (b"pot one", "pot\u00a0one".encode(), ["-pot{[U+0020]}one", "+pot{[U+00A0]}one"]),
        (b"a pot", "a \u200bpot".encode(), ["-a pot", "+a {\u200b}pot"]),
        (b"call \xff me", b"call \\xff me", ["-call \\xff me[not UTF-8]", "+call \\xff me"]),
    ],
)
def test_what_no_eye_would_see_is_a_visible_difference(before: bytes, after: bytes, shown: list[str]) -> None:
    assert changed(prompt_diff(b"head\n" + before + b"\ntail", b"head\n" + after + b"\ntail")) == shown


def test_a_missing_line_end_at_the_end_is_a_visible_difference() -> None:
    assert changed(prompt_diff(b"pot", b"pot\n")) == ["-pot[no line end]", "+pot"]


def test_a_character_cut_by_the_first_difference_stays_whole() -> None:
    found = prompt_diff("7\u2663".encode(), "7\u2660".encode())
    assert found.prefix == 3
    assert changed(found) == ["-7{\u2663}[no line end]", "+7{\u2660}[no line end]"]


def test_in_a_long_line_no_character_is_cut_in_half() -> None:
    found = prompt_diff("é".encode() * 5_000 + b"xa", "é".encode() * 5_000 + b"xb")
    assert not [row for row in found.rows if "not UTF-8" in marked(row)]


def test_a_letter_that_happens_to_stay_is_part_of_the_change() -> None:
    assert changed(prompt_diff(b"raise 1x2\n", b"raise 3x4\n")) == ["-raise {1x2}", "+raise {3x4}"]


def test_lines_with_little_in_common_are_apart() -> None:
    found = changed(prompt_diff(b"abcdefghij xxx klmnopqrst\n", b"0123456789 xxx ABCDEFGHIJ\n"))
    assert found == ["-{abcdefghij xxx klmnopqrst}", "+{0123456789 xxx ABCDEFGHIJ}"]


def test_beyond_the_budget_whole_lines_are_marked() -> None:
    lines = [("s" * 300 + each * 300 + "\n").encode() * 150 for each in "ab"]
    rows = [row for row in prompt_diff(*lines).rows if row.kind == "removed"]
    assert [any(not span.is_changed for span in rows[place].spans) for place in (0, -1)] == [True, False]


def test_other_lines_are_not_called_versions_of_each_other() -> None:
    assert changed(prompt_diff(b"fold\n", b"xyzw 12345678\n")) == ["-{fold}", "+{xyzw 12345678}"]


# Random, but for newlines: whatever happens to be shared is shared by chance.
BIG = os.urandom(10_000_000)
LONG_LINE = b"x" * 1_000_000
LINES = b"".join(b"line %d of many\n" % place for place in range(200_000))


LARGE = {
    "nothing in common": (BIG, BIG[::-1]),
    "three bytes added": (BIG, BIG[:5_000_000] + b"new" + BIG[5_000_000:]),
    "a byte in a long line": (LONG_LINE + b"a" + LONG_LINE, LONG_LINE + b"b" + LONG_LINE),
    "two long lines": (b"ab" * 500_000, b"ba" * 500_000 + b"c"),
    "only newlines": (b"\n" * 10_000_000, b"x\n" * 5_000_000),
    "two lines, over and over": (b"x" + b"a\nb\n" * 2_000_000, b"b\nb\na\n" * 2_000_000 + b"y"),
    "each line another": (LINES, LINES.replace(b"many", b"much")),
    "nothing left": (LINES, b""),
}


@pytest.mark.parametrize("name", LARGE)
def test_any_prompts_are_compared_fast_and_in_few_rows(name: str) -> None:
    started = time.process_time()
    found = prompt_diff(*LARGE[name])
    assert time.process_time() - started < 2
    assert 0 < len(found.rows) < 700
    assert all(len(span.text) <= 400 for row in found.rows for span in row.spans)


def test_a_cut_is_marked_with_the_true_size() -> None:
    found = prompt_diff(b"a" + BIG + b"b", b"c" + BIG[::-1] + b"d")
    (note,) = [row.note for row in found.rows if row.kind == "cut" and "more rows" not in row.note]
    assert "131,072 of 10,000,002 bytes before, 131,072 of 10,000,002 bytes after" in note


def test_rows_that_are_not_shown_are_counted() -> None:
    before = b"".join(b"line %d of many\n" % place for place in range(1_000))
    found = prompt_diff(before, before.replace(b"of", b"in"))
    (note,) = [row.note for row in found.rows if row.kind == "cut"]
    assert note == "1,400 more rows of 2,000 are not shown."


def test_in_the_middle_of_a_long_line_no_line_end_is_claimed() -> None:
    found = prompt_diff(LONG_LINE + b"a" + LONG_LINE, LONG_LINE + b"b" + LONG_LINE)
    assert not [row for row in found.rows if "no line end" in marked(row)]
