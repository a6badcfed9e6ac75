"""A file to import comes from anywhere: whatever is wrong with it is one clear sentence, and nothing was written."""

import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

from capture.exchange import ExchangeError, import_hand
from capture_sdk.codec import frame
from tests.server.forging import exported, members, refusal, remake, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def hand(buffer: Any, tmp_path: Path) -> Path:
    """See ``exported``."""
    return exported(tmp_path)


def test_a_file_that_is_no_zip(hand: Path) -> None:
    hand.write_bytes(b"%PDF-1.7 and so on")
    assert "no zip archive" in refusal(hand)


@pytest.mark.parametrize("left", [0.01, 0.5, 0.99])
def test_a_file_that_is_cut_short(hand: Path, left: float) -> None:
    data = hand.read_bytes()
    hand.write_bytes(data[: int(len(data) * left)])
    assert "cut short" in refusal(hand)


def test_a_zip_of_somebody_else(hand: Path) -> None:
    write(hand, {"holiday.jpg": b"\xff\xd8"})
    assert "holds no 'manifest.json'" in refusal(hand)
    write(hand, {"manifest.json": b'{"format": "another", "version": 1}'})
    assert "no export of a hand" in refusal(hand)


def test_a_newer_version_asks_for_an_update(hand: Path) -> None:
    remake(hand, lambda manifest, _: manifest.update(version=2))
    assert "of version 2, and version 1 is read here: update" in refusal(hand)


def test_a_bomb_is_refused_before_it_unfolds(hand: Path) -> None:
    bomb = members(hand) | {"records/00000": bytes(50_000_000)}
    write(hand, bomb, compression=zipfile.ZIP_DEFLATED)
    assert "is compressed" in refusal(hand)


def test_a_bomb_within_a_record_ends_at_the_codecs_limit(hand: Path) -> None:
    bomb = frame(bytes(65 * 1024 * 1024))
    remake(hand, lambda _, content: content.update({"records/00000": bomb}))
    assert "is no record: the record is larger than" in refusal(hand)


def test_a_bomb_of_empty_values_is_counted_and_never_made(hand: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("capture.weight.FROZEN_VALUES", 5)
    assert "its knowledge has more than 5 values" in refusal(hand)


def test_too_many_members_are_refused_before_any_is_read(hand: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("capture.exchange.archive.EXPORT_MEMBERS", 3)
    assert "more than the 3 members" in refusal(hand)


def test_a_file_or_a_member_that_is_too_large_names_the_limit(hand: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("capture.exchange.importing.EXPORT_MANIFEST_BYTES", 100)
    assert "larger than the 100 bytes" in refusal(hand)
    monkeypatch.setattr("capture.exchange.archive.EXPORT_FILE_BYTES", 200)
    assert "larger than the 200 bytes" in refusal(hand)


def test_members_that_overlap_or_come_twice(hand: Path) -> None:
    with zipfile.ZipFile(hand) as archive:
        first = archive.infolist()[0]
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(hand, "a") as archive:
        archive.writestr(first.filename, b"twice")
    assert "names a member twice" in refusal(hand)


def test_a_member_that_differs_from_its_hash_is_named(hand: Path) -> None:
    content = members(hand)
    content["records/00001"] = content["records/00001"][:-1] + b"x"
    write(hand, content)
    assert "'records/00001' is damaged: its sha256" in refusal(hand)


def test_members_and_manifest_must_agree(hand: Path) -> None:
    whole = members(hand)
    write(hand, whole | {"extra": b""})
    assert "only one of them knows of 'extra'" in refusal(hand)
    write(hand, {name: data for name, data in whole.items() if name != "records/00000"})
    assert "only one of them knows of 'records/00000'" in refusal(hand)


def test_whatever_bit_is_flipped_it_is_told_or_changes_nothing(hand: Path) -> None:
    whole, chance = hand.read_bytes(), random.Random(7)
    reference = members(hand)
    for _ in range(150):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        hand.write_bytes(data)
        try:
            import_hand(hand, by="test", dry_run=True)
        except ExchangeError:
            continue
        assert members(hand) == reference  # a time or a right in the zip's own headers, which nobody reads
