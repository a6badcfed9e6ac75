"""Every pinned prompt hashed anew: what is proven, what has changed, what was never there."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from capture.limits import MIB
from capture.models import AgentCallEnvelope, AgentCallRecord
from capture.pins import walking as stored
from capture.pins.pin import promote
from capture.pins.verifying import Verdict, Verification, verify_records
from capture_sdk.codec import compress, encode
from capture_sdk.records import TurnRecord
from tests.build import HAND, TABLE, play, seat
from tests.site_process import PRODUCTION, manage

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept(buffer: Any) -> None:
    """Two agents with two turns each, pinned; the buffer has forgotten them."""
    for agent in ("a", "b"):
        at = seat(agent)
        for index in (1, 2):
            play(at, index)
        promote(TABLE, HAND, agent_id=agent, by="test")
    buffer.flushall()


def verify(**scope: Any) -> Verification:
    return verify_records(**scope, on_turns=lambda turns: None)


def run(*arguments: str) -> tuple[dict[str, Any], str]:
    out = StringIO()
    try:
        call_command("verify_records", *arguments, "--json", stdout=out)
    except CommandError as exc:
        return json.loads(out.getvalue()), str(exc)
    return json.loads(out.getvalue()), ""


def damage(place: int) -> None:
    row = AgentCallRecord.objects.order_by("id")[place]
    data = bytearray(row.record)
    data[len(data) // 2] ^= 1
    AgentCallRecord.objects.filter(pk=row.pk).update(record=bytes(data))


@pytest.mark.usefixtures("kept")
def test_what_is_whole_is_verified() -> None:
    figures, error = run()
    assert (figures["verified"], figures["notVerified"], error) == (4, [], "")


@pytest.mark.usefixtures("kept")
def test_a_flipped_byte_in_a_record_is_unreadable_and_named() -> None:
    damage(1)
    figures, error = run()
    (found,) = figures["notVerified"]
    assert (figures["verified"], figures["unreadable"]) == (3, 1)
    assert (found["agentId"], found["actionIndex"], found["verdict"]) == ("a", 2, "unreadable")
    assert "has changed" in error


@pytest.mark.usefixtures("kept")
def test_a_swapped_envelope_is_a_mismatch_of_its_agent_alone() -> None:
    AgentCallEnvelope.objects.filter(agent_id="b").update(body=compress(b"another strategy"))
    figures, error = run()
    assert (figures["verified"], figures["mismatched"]) == (2, 2)
    assert {found["agentId"] for found in figures["notVerified"]} == {"b"}
    assert error


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("body", [None, b"no frame"])
def test_an_envelope_that_has_gone_is_unavailable_and_no_alarm(body: bytes | None) -> None:
    rows = AgentCallEnvelope.objects.filter(agent_id="a")
    rows.delete() if body is None else rows.update(body=body)
    figures, error = run()
    assert (figures["unavailable"], figures["unavailableBy"], error) == (2, {"envelope_gone": 2}, "")


@pytest.mark.usefixtures("kept")
def test_a_record_in_anothers_place_is_unreadable() -> None:
    first, second = AgentCallRecord.objects.filter(agent_id="a").order_by("id")
    AgentCallRecord.objects.filter(pk=second.pk).update(record=first.record)
    assert verify().counts[Verdict.UNREADABLE] == 1


@pytest.mark.usefixtures("kept")
def test_the_scope_is_a_table_and_a_hand() -> None:
    assert sum(verify(table_id=TABLE, hand_number=HAND).counts.values()) == 4
    assert sum(verify(table_id=TABLE, hand_number=HAND + 1).counts.values()) == 0
    assert sum(verify(table_id="another").counts.values()) == 0


def test_a_turn_without_a_prompt_is_counted_by_its_reason(buffer: Any) -> None:
    at = seat()
    with at.turn(1) as turn:
        turn.response("fold")
    assert at.client.flush(5)
    promote(TABLE, HAND, agent_id="river-rat", by="test")
    assert verify().unavailable == {"not_captured": 1}


@pytest.mark.usefixtures("kept")
def test_a_whole_frame_with_a_strange_map_costs_no_other_turn() -> None:
    row = AgentCallRecord.objects.order_by("id")[0]
    strange = TurnRecord(key=stored.key_of(row), captured_at=row.captured_at, knowledge="text")  # type: ignore[arg-type]
    AgentCallRecord.objects.filter(pk=row.pk).update(record=encode(strange))
    assert verify().counts == {Verdict.UNREADABLE: 1, Verdict.VERIFIED: 3}


@pytest.mark.usefixtures("kept")
def test_the_walk_holds_no_more_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(bytes(AgentCallRecord.objects.order_by("id")[0].record))
    monkeypatch.setattr(stored, "WALK_BYTES", size + 1)
    monkeypatch.setattr(stored, "WALK_ROWS", 3)
    chunks = [len(rows) for rows in stored.walk_records({})]
    assert chunks == [1, 1, 1, 1]
    assert verify().counts[Verdict.VERIFIED] == 4


@pytest.mark.usefixtures("kept")
def test_what_is_listed_is_bounded_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.pins.verifying.LISTED_TURNS", 1)
    AgentCallRecord.objects.update(record=b"\x01")
    found = verify()
    assert (len(found.findings), found.unlisted, found.counts[Verdict.UNREADABLE]) == (1, 3, 4)


def test_a_prompt_of_ten_megabytes_is_hashed_whole(buffer: Any) -> None:
    play(seat(), 1, envelope="♠" * MIB, remainder="x" * (7 * MIB))
    promote(TABLE, HAND, agent_id="river-rat", by="test")
    assert verify().counts == {Verdict.VERIFIED: 1}


def test_ids_are_printed_for_people_without_their_control_characters(buffer: Any) -> None:
    play(seat("\x1b[2J\u202e"), 1)
    promote(TABLE, HAND, agent_id="\x1b[2J\u202e", by="test")
    AgentCallEnvelope.objects.all().delete()
    out = StringIO()
    call_command("verify_records", stdout=out)
    assert "\\x1b[2J\\u202e" in out.getvalue()
    assert "\x1b" not in out.getvalue()


@pytest.mark.usefixtures("kept")
def test_it_reads_and_changes_nothing() -> None:
    with connection.execute_wrapper(_only_reads):
        assert verify().is_sound


def _only_reads(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    assert sql.startswith("SELECT")
    return execute(sql, params, many, context)


@pytest.mark.parametrize("command", ["verify_records", "rebuild_search"])
def test_a_durable_store_that_is_down_is_one_sentence(command: str) -> None:
    finished = manage(command, "--json", environment=PRODUCTION)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert "the durable store failed" in finished.stderr
    assert "Traceback" not in finished.stderr
