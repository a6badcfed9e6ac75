"""Prompts are put into an answer piece by piece, and come out as if the whole had been escaped at once."""

import json

import pytest

from capture.api.writing import Writer
from capture_sdk.prompt import Prompt, split
from capture_sdk.splitting import split_at

TEXTS = [
    "plain",
    '"quoted" \\ \r\n\t\x00\x7f',
    "♠ 🂡 ü",
    "half \ud83d",
    "\ude00 other half",
    "</script>\u2028",
    "",
]


def written(prompt: Prompt) -> object:
    writer = Writer()
    return json.loads(
        writer.dumps({"before": '"', "prompt": writer.prompt(prompt), "after": [1, {"x": "y"}]})
    )["prompt"]


@pytest.mark.parametrize("envelope", TEXTS)
@pytest.mark.parametrize("remainder", TEXTS)
def test_it_is_the_text_that_was_told(envelope: str, remainder: str) -> None:
    prompt = split(envelope, remainder)
    assert written(prompt) == json.loads(json.dumps(prompt.text()))


@pytest.mark.parametrize("offset", range(1, 12))
def test_wherever_the_split_lies_also_within_a_character(offset: int) -> None:
    prompt = split_at("♠🂡ü half \ud83d".encode("utf-8", "surrogatepass"), offset, is_text=True)
    assert written(prompt) == prompt.text()


def test_bytes_keep_their_form() -> None:
    assert written(split(b"\xff", b"\x00")) == {"$bytes": "/woA"}


def test_what_has_gone_is_null() -> None:
    assert written(Prompt(None, b"", b"x", "0" * 64, "0" * 64, is_text=True)) is None


def test_many_prompts_each_stand_in_their_own_place() -> None:
    writer = Writer()
    prompts = [split("the same", f"remainder {place} {'0:' * place}") for place in range(30)]
    shape: dict[str, object] = {
        "turns": [{"prompt": writer.prompt(each)} for each in prompts],
        "odd": float("nan"),
    }
    turns = json.loads(writer.dumps(shape))["turns"]
    assert [turn["prompt"] for turn in turns] == [each.text() for each in prompts]
