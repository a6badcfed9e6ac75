"""Envelope + remainder give back the same bytes, with the same hash, whatever they hold."""

import hashlib

import pytest

from capture_sdk.prompt import Prompt, PromptStatus, split

TEXTS = [
    "",
    "plain",
    "kæmpe ♠",
    "nul \x00 and \x1b[31m",
    "half \ud83d pair",
    "\r\n\u2028",
    "\u202eright to left",
]


@pytest.mark.parametrize("envelope", TEXTS)
@pytest.mark.parametrize("remainder", TEXTS)
def test_two_parts_rejoin_to_what_was_told(envelope: str, remainder: str) -> None:
    prompt = split(envelope, remainder)
    told = remainder if not envelope else f"{envelope}\n{remainder}" if remainder else envelope
    assert prompt.text() == told
    assert prompt.sha256 == hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
    assert prompt.status() is PromptStatus.VERIFIED


def test_bytes_stay_bytes() -> None:
    prompt = split(b"\xff\xfe", b"\x00", b"")
    assert prompt.text() == b"\xff\xfe\x00"


def test_an_envelope_is_named_by_its_hash() -> None:
    assert split("env", "rest").env_hash == hashlib.sha256(b"env").hexdigest()


def test_a_prompt_without_an_envelope_is_kept_whole_and_shares_nothing() -> None:
    prompt = split("", "whole")
    assert (prompt.env_hash, prompt.joiner, prompt.text()) == (None, b"", "whole")


def test_a_flipped_byte_is_a_mismatch() -> None:
    good = split("envelope", "rest")
    bad = Prompt(b"Envelope", good.joiner, good.remainder, good.env_hash, good.sha256, is_text=True)
    assert bad.status() is PromptStatus.MISMATCHED


def test_a_missing_envelope_is_not_a_mismatch() -> None:
    good = split("envelope", "rest")
    gone = Prompt(None, good.joiner, good.remainder, good.env_hash, good.sha256, is_text=True)
    assert (gone.status(), gone.text()) == (PromptStatus.UNAVAILABLE, None)
