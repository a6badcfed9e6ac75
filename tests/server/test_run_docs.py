"""``docs/runs.md`` tells of the quality report and the four places what the code does."""

import re
from pathlib import Path

from capture.runs.branching import LETS_TEST
from capture.runs.inventory.formats import READERS
from capture.runs.inventory.found import Kind, Visibility
from capture.runs.inventory.opening import RequestState
from capture.runs.quality import CHECKS

DOC = Path(__file__).parents[2].joinpath("docs", "runs.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The first table below a heading, without its head."""
    table = DOC.split(f"{heading}\n", 1)[1].split("\n\n|", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_every_line_of_the_report_is_in_its_table() -> None:
    assert [row[0] for row in rows("## The quality report")] == [check.title for check in CHECKS]


def test_the_four_places_say_what_they_let_one_test() -> None:
    assert [(row[0], row[2]) for row in rows("### Where a replay can branch")] == [
        (f"`{place}`", text) for place, text in LETS_TEST.items()
    ]


def test_every_format_of_a_request_is_in_its_table() -> None:
    named = {row[0].strip("`") for row in rows("## Context inventory")}
    assert named == {*READERS, "messages"}


def test_every_word_of_an_item_is_explained() -> None:
    section = re.split(r"\n## ", DOC.split("## Context inventory\n", 1)[1])[0]
    words = [*Kind, *Visibility, *RequestState]
    assert not [word.value for word in words if f"`{word.value}`" not in section]
