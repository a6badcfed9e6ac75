"""A file to import comes from anywhere: whatever is wrong with it is one clear sentence, and nothing was written."""

import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from capture.exchange import ExchangeError, export_hand, import_hand
from capture.exchange.archive import ArchiveWriter
from capture.models import AgentAccess, AgentCallEnvelope, AgentCallRecord, AgentHand, AgentInferenceCharge
from capture.pin import promote
from capture_sdk.codec import decode, encode, frame, unframe
from capture_sdk.freeze import repack, unpack
from tests.build import HAND, TABLE, play, seat

pytestmark = pytest.mark.django_db

Members = dict[str, bytes]
Content = dict[str, Any]


@pytest.fixture
def hand(buffer: Any, tmp_path: Path) -> Path:
    """An exported hand of two agents, which this installation no longer has."""
    for agent in ("a", "b"):
        play(seat(agent), 1)
        promote(TABLE, HAND, agent_id=agent, by="user:anna")
    export_hand(TABLE, HAND, tmp_path / "hand.zip", agents=None, by="test")
    for model in (AgentCallRecord, AgentCallEnvelope, AgentInferenceCharge, AgentHand):
        model.objects.all().delete()
    return tmp_path / "hand.zip"


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, content: Members, **options: Any) -> None:
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def remake(path: Path, change: Callable[[Content, Members], None]) -> None:
    """Change manifest and members; sizes and hashes are made to fit, as a forger would."""
    content = members(path)
    manifest = json.loads(content.pop("manifest.json"))
    change(manifest, content)
    for entry in (*manifest["records"], *manifest["envelopes"], manifest["charges"]):
        with path.open("wb") as file:
            fits = ArchiveWriter(file).add("x", content.get(entry["member"], b""))
        entry.update(sha256=fits.sha256, size=fits.size)
    write(path, content | {"manifest.json": json.dumps(manifest).encode()})


def forge_entry(path: Path, change: Content) -> None:
    """Change the first record's entry in the manifest, and nothing else."""
    content = members(path)
    manifest = json.loads(content["manifest.json"])
    manifest["records"][0].update(change)
    write(path, content | {"manifest.json": json.dumps(manifest).encode()})


def refusal(path: Path) -> str:
    """The sentence that the command ends with; the tables are as empty as before."""
    with pytest.raises(CommandError) as caught:
        call_command("import_hand", str(path))
    for model in (AgentCallRecord, AgentCallEnvelope, AgentInferenceCharge):
        assert not model.objects.exists()
    assert not AgentAccess.objects.filter(action="import").exists()
    message = str(caught.value)
    assert message.startswith("nothing was imported: ")
    assert "\n" not in message
    return message


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


def test_a_record_of_another_turn_is_refused(hand: Path) -> None:
    def swap(manifest: Content, content: Members) -> None:
        content["records/00000"], content["records/00001"] = (
            content["records/00001"],
            content["records/00000"],
        )

    remake(hand, swap)
    assert "record of another turn" in refusal(hand)


def test_an_envelope_under_anothers_hash_is_refused(hand: Path) -> None:
    def forge(manifest: Content, content: Members) -> None:
        content[manifest["envelopes"][0]["member"]] = b"another strategy"

    remake(hand, forge)
    assert "is not the envelope" in refusal(hand)


def test_an_envelope_that_no_turn_needs_is_refused(hand: Path) -> None:
    def orphan(manifest: Content, content: Members) -> None:
        manifest["records"] = [each for each in manifest["records"] if each["agentId"] == "a"]
        del content["records/00001"]

    remake(hand, orphan)
    assert "none of its turns needs" in refusal(hand)


@pytest.mark.parametrize("field", ["agentId", "actionIndex", "pinnedAt", "member", "sha256", "size"])
@pytest.mark.parametrize("value", ["\x00", -1, [], {}, "\ud83d", "x" * 2_000, 2**70, True, None])
def test_a_manifest_with_any_strange_value_is_refused(hand: Path, field: str, value: object) -> None:
    forge_entry(hand, {field: value})
    assert refusal(hand)


@pytest.mark.parametrize("field", ["pinnedBy", "agentVersionId"])
@pytest.mark.parametrize("value", [-1, [], {}, True])
def test_a_manifests_text_that_is_no_text_is_refused(hand: Path, field: str, value: object) -> None:
    forge_entry(hand, {field: value})
    assert "is no str" in refusal(hand)


@pytest.mark.parametrize("field", ["pinnedBy", "agentVersionId"])
@pytest.mark.parametrize("value", ["nul\x00", "half \ud83d", "\u202e", "x" * 1_000])
def test_text_that_a_column_refuses_costs_no_turn(hand: Path, field: str, value: str) -> None:
    forge_entry(hand, {field: value})
    assert import_hand(hand, by="test").records.inserted == 2


def test_who_pinned_has_a_limit(hand: Path) -> None:
    forge_entry(hand, {"pinnedBy": "x" * 1_001})
    assert "more than 1000 characters" in refusal(hand)


@pytest.mark.parametrize("junk", [b"", b"[" * 200_000, b"[1]", b"null", b'{"a": NaN}', b"\xff", b"[{}]"])
def test_charges_or_a_manifest_that_are_no_such_json(hand: Path, junk: bytes) -> None:
    whole = members(hand)
    remake(hand, lambda _, content: content.update({"charges.json": junk}))
    assert "charge" in refusal(hand)
    write(hand, whole | {"manifest.json": junk})
    assert refusal(hand)


STRANGE_CHARGES: list[Content] = [
    {"tableId": "another"},
    {"agentId": "z"},
    {"usage": "AA="},
    {"usage": "wQ=="},
    {"amount": []},
    {"chargedAt": "0001-01-01T00:00:00+23:59"},
    {"costMicros": 2**63},
    {"odd": 1},
    {"model": 5},
]


@pytest.mark.parametrize("change", STRANGE_CHARGES)
def test_a_strange_charge_is_refused(hand: Path, change: Content) -> None:
    def forge(_: Content, content: Members) -> None:
        charges = json.loads(content["charges.json"])
        charges[0].update(change)
        content["charges.json"] = json.dumps(charges).encode()

    remake(hand, forge)
    assert "charge" in refusal(hand)


STRANGE_FIELDS: list[tuple[str, object]] = [
    ("knowledge", "text"),
    ("response", [5, False]),
    ("decision", b"\xc1"),
    ("losses", {"a": "b"}),
    ("capturedAt", "0001-01-01T00:00:00+23:59"),
    ("tableId", 5),
    ("actionIndex", 2**63),
    ("attempts", [[]]),
    ("prompt", {"joiner": 1, "remainder": b"", "envHash": None, "sha256": bytes(32), "isText": True}),
    ("prompt", {"joiner": b"", "remainder": b"", "envHash": "../x", "sha256": bytes(32), "isText": True}),
]


@pytest.mark.parametrize(("field", "value"), STRANGE_FIELDS)
def test_a_record_that_no_sdk_wrote_is_refused(hand: Path, field: str, value: object) -> None:
    def forge(_: Content, content: Members) -> None:
        fields = unpack(unframe(content["records/00000"]))
        assert isinstance(fields, dict)
        content["records/00000"] = frame(repack(fields | {field: value}))

    remake(hand, forge)
    assert "'records/00000' is no record" in refusal(hand)


def test_a_forged_prompt_is_imported_as_what_it_is(hand: Path) -> None:
    """Whoever forges a record can make every hash of the file fit, but not that of the prompt within."""

    def forge(_: Content, content: Members) -> None:
        record = decode(content["records/00000"])
        assert record.prompt is not None
        forged = record.prompt.__class__(**_fields(record.prompt) | {"remainder": b"another question"})
        content["records/00000"] = encode(record.__class__(**_fields(record) | {"prompt": forged}))

    remake(hand, forge)
    done = import_hand(hand, by="test")
    assert {str(each): count for each, count in done.prompts.items() if count} == {
        "verified": 1,
        "mismatched": 1,
    }


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


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
