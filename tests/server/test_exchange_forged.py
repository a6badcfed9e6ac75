"""A file in which every hash fits and something is still wrong: manifest, records, envelopes and charges."""

import json
from pathlib import Path
from typing import Any

import pytest

from capture.exchange import import_hand
from capture_sdk.codec import decode, encode, frame, unframe
from capture_sdk.freeze import repack, unpack
from tests.server.forging import Content, Members, exported, forge_entry, members, refusal, remake, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def hand(buffer: Any, tmp_path: Path) -> Path:
    """See ``exported``."""
    return exported(tmp_path)


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
    {"latencyMs": 2**31},
    {"odd\x1b[2J\n" + "x" * 1_000: 1},
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
    ("run", ["claims", ""]),
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
