"""A kept hand leaves as a file and comes back byte for byte; nothing that is here is overwritten."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from capture.hands import get_hand_all
from capture.ledger import charges_of_hand, record_charges
from capture.limits import MIB
from capture.models import (
    AgentAccess,
    AgentCallEnvelope,
    AgentCallRecord,
    AgentHand,
    AgentInferenceCharge,
)
from capture.pin import promote
from capture_sdk.codec import compress, decompress
from tests.build import ENVELOPE, HAND, TABLE, fall_back, play, seat

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept(buffer: Any) -> None:
    """Two agents, two envelopes, three turns and a fallback, pinned; the buffer has forgotten them."""
    at = seat("a")
    play(at, 1, reasoning="because")
    play(at, 2, envelope=ENVELOPE + "Be bolder.")
    play(seat("b"), 1)
    fall_back(seat("b"), 3)
    keep("a", "b")
    buffer.flushall()


def keep(*agents: str, table: str = TABLE) -> None:
    for agent in agents:
        promote(table, HAND, agent_id=agent, by="user:anna")


def run(command: str, *arguments: object) -> dict[str, Any]:
    out = StringIO()
    call_command(command, *map(str, arguments), "--json", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def export(path: Path, *arguments: object, table: str = TABLE) -> dict[str, Any]:
    return run("export_hand", table, HAND, path / "hand.zip", *arguments)


def take(path: Path, *arguments: object) -> dict[str, Any]:
    return run("import_hand", path / "hand.zip", *arguments)


def stored(table: str = TABLE) -> tuple[dict[Any, Any], dict[Any, Any], list[Any]]:
    """What the durable store has of the hand: records' bytes, envelopes' raw bytes, charges."""
    records = AgentCallRecord.objects.values_list("agent_id", "action_index", "record", "agent_version_id")
    envelopes = AgentCallEnvelope.objects.values_list("agent_id", "env_hash", "body", "size")
    return (
        {(agent, index): (bytes(record), version) for agent, index, record, version in records},
        {(agent, name): (decompress(bytes(body), 64 * MIB), size) for agent, name, body, size in envelopes},
        charges_of_hand(table, HAND, agent_id=None),
    )


def wipe() -> None:
    for model in (AgentCallRecord, AgentCallEnvelope, AgentInferenceCharge, AgentHand):
        model.objects.all().delete()


@pytest.mark.usefixtures("kept")
def test_a_hand_comes_back_byte_for_byte(tmp_path: Path) -> None:
    before = stored()
    assert export(tmp_path) == {
        "tableId": TABLE,
        "handNumber": HAND,
        "file": str(tmp_path / "hand.zip"),
        "agents": ["a", "b"],
        "turns": 3,
        "envelopes": 3,
        "charges": 4,
        "missing": [],
    }
    wipe()
    answer = take(tmp_path)
    assert stored() == before
    assert (answer["turns"], answer["prompts"]["verified"]) == ({"inserted": 3, "present": 0}, 3)
    assert AgentHand.objects.get().fallbacks == 1


@pytest.mark.parametrize("text", ["nul\x00", "half \ud83d", "\u202e\x1b[2J", "♠🂡" * 1000, "{}", ""])
def test_whatever_python_can_hold_comes_back(buffer: Any, tmp_path: Path, text: str) -> None:
    knowledge = {"note": text, "set": {1, 2}}
    play(seat(), 1, envelope=text, remainder=text, response=text, reasoning=text, knowledge=knowledge)
    keep("river-rat")
    buffer.flushall()
    before, view = stored(), get_hand_all(TABLE, HAND).turns
    export(tmp_path)
    wipe()
    take(tmp_path)
    assert stored() == before
    assert get_hand_all(TABLE, HAND).turns == view


def test_bytes_that_are_not_text_come_back(buffer: Any, tmp_path: Path) -> None:
    play(seat(), 1, envelope=b"\xff\xfe", remainder=b"\x00\x80", response=b"\xc3\x28")
    keep("river-rat")
    before = stored()
    export(tmp_path)
    wipe()
    assert take(tmp_path)["prompts"]["verified"] == 1
    assert stored() == before


def test_a_prompt_of_ten_megabytes_comes_back(buffer: Any, tmp_path: Path) -> None:
    play(seat(), 1, envelope="♠" * MIB, remainder="x" * (7 * MIB))
    keep("river-rat")
    before = stored()
    export(tmp_path)
    wipe()
    assert take(tmp_path)["prompts"]["verified"] == 1
    assert stored() == before


@pytest.mark.parametrize("name", ["a:b%c/d", "../../etc", "🂡 ♠", "\x1b[2J", "a" * 200])
def test_ids_are_data_and_never_paths(buffer: Any, tmp_path: Path, name: str) -> None:
    play(seat(name, table_id=name), 1)
    keep(name, table=name)
    before = stored(name)
    export(tmp_path, table=name)
    wipe()
    assert take(tmp_path)["agents"] == [name]
    assert stored(name) == before


def test_a_charge_comes_back_equal(buffer: Any, tmp_path: Path) -> None:
    at = seat()
    turn = at.play(1)
    odd = {"amount": 2**80, "usage": b"\x81\xa1x\xc4\x01\xff", "input_tokens": 2**40, "model": "m♠"}
    record_charges(
        [turn.charge(**odd), at.play(2).charge(amount=float("nan")), at.play(3).charge(amount="all")]
    )
    keep("river-rat")
    before = stored()
    export(tmp_path)
    wipe()
    take(tmp_path)
    assert stored() == before
    assert take(tmp_path)["charges"] == {"inserted": 0, "present": 3}


@pytest.mark.usefixtures("kept")
def test_the_same_content_is_the_same_file(tmp_path: Path) -> None:
    export(tmp_path)
    first = (tmp_path / "hand.zip").read_bytes()
    wanted = list(AgentCallRecord.objects.order_by("-id"))
    AgentCallRecord.objects.all().delete()
    for row in wanted:  # another installation's rows have other ids, in another order
        row.pk = None
        row.save()
    export(tmp_path)
    assert (tmp_path / "hand.zip").read_bytes() == first
    assert list(tmp_path.iterdir()) == [tmp_path / "hand.zip"]


@pytest.mark.usefixtures("kept")
def test_a_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    export(tmp_path)
    assert (tmp_path / "hand.zip").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("kept")
def test_one_agents_part_holds_nothing_of_its_rivals(tmp_path: Path) -> None:
    assert export(tmp_path, "--agent", "b")["agents"] == ["b"]
    wipe()
    take(tmp_path)
    records, envelopes, charges = stored()
    names = {agent for agent, _ in (*records, *envelopes)} | {charge.key.agent_id for charge in charges}
    assert (names, len(charges)) == ({"b"}, 2)


@pytest.mark.usefixtures("kept")
def test_importing_twice_is_the_same_as_once(tmp_path: Path) -> None:
    export(tmp_path)
    wipe()
    take(tmp_path)
    before = stored()
    answer = take(tmp_path)
    assert answer["turns"] == answer["envelopes"] == {"inserted": 0, "present": 3}
    assert answer["charges"] == {"inserted": 0, "present": 4}
    assert stored() == before


@pytest.mark.usefixtures("kept")
def test_a_dry_run_counts_and_keeps_nothing(tmp_path: Path) -> None:
    export(tmp_path)
    wipe()
    answer = take(tmp_path, "--dry-run")
    assert (answer["turns"]["inserted"], answer["dryRun"]) == (3, True)
    assert stored() == ({}, {}, [])
    assert not AgentAccess.objects.filter(action="import").exists()


@pytest.mark.usefixtures("kept")
def test_who_kept_it_stays_and_who_imported_it_is_added(tmp_path: Path) -> None:
    export(tmp_path)
    times = list(AgentCallRecord.objects.order_by("id").values_list("pinned_at", flat=True))
    wipe()
    take(tmp_path)
    row = AgentCallRecord.objects.order_by("id")[0]
    assert row.pinned_by.startswith("user:anna, imported by command:import_hand by ")
    assert row.pinned_at in times


@pytest.mark.usefixtures("kept")
def test_both_directions_are_in_the_access_log(tmp_path: Path) -> None:
    export(tmp_path)
    take(tmp_path)
    lines = AgentAccess.objects.order_by("id").values_list("action", "table_id", "hand_number", "agents")
    assert list(lines) == [("export", TABLE, HAND, ["a", "b"]), ("import", TABLE, HAND, ["a", "b"])]


def refused(path: Path) -> tuple[dict[str, Any], str]:
    out = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_hand", str(path / "hand.zip"), "--json", stdout=out)
    return json.loads(out.getvalue()), str(caught.value)


@pytest.mark.usefixtures("kept")
def test_a_turn_that_differs_here_is_a_conflict_and_stays(tmp_path: Path, buffer: Any) -> None:
    export(tmp_path)
    wipe()
    play(seat("a"), 1, response="fold")
    keep("a")
    mine = stored()
    answer, error = refused(tmp_path)
    assert answer["conflicts"] == ["turn 1 of 'a'", "charge 1 of 'a'"]
    assert answer["turns"] == {"inserted": 2, "present": 0}
    assert stored()[0]["a", 1] == mine[0]["a", 1]
    assert "left as it is" in error


@pytest.mark.usefixtures("kept")
def test_an_envelope_that_is_damaged_here_is_a_conflict(tmp_path: Path) -> None:
    export(tmp_path)
    AgentCallEnvelope.objects.filter(agent_id="b").update(body=compress(b"other"))
    answer, _ = refused(tmp_path)
    assert [each[:9] for each in answer["conflicts"]] == ["envelope "]
    assert stored()[1]["b", AgentCallEnvelope.objects.get(agent_id="b").env_hash][0] == b"other"


def test_a_hand_in_the_buffer_alone_is_to_be_kept_first(buffer: Any, tmp_path: Path) -> None:
    play(seat("a"), 1)
    with pytest.raises(CommandError, match="promote_hand"):
        export(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("kept")
def test_an_agent_of_whom_nothing_is_kept_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="nothing of 'z' is kept"):
        export(tmp_path, "--agent", "a", "--agent", "z")


def test_a_buffer_that_is_down_is_not_an_empty_one(buffer: Any, dead_buffer: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="does not answer"):
        export(tmp_path)


def test_a_partial_pin_says_what_is_missing_in_the_file_too(buffer: Any, tmp_path: Path) -> None:
    at = seat("a")
    play(at, 1)
    play(at, 2)
    buffer.delete(f"turn:{TABLE}:{HAND}:a:2")
    keep("a")
    missing = [{"agentId": "a", "actionIndex": 2, "reason": "not_kept"}]
    assert export(tmp_path)["missing"] == missing
    wipe()
    assert take(tmp_path)["missing"] == missing


@pytest.mark.usefixtures("kept")
def test_what_is_damaged_at_rest_does_not_leave_as_if_it_were_good(tmp_path: Path) -> None:
    AgentCallRecord.objects.filter(agent_id="a", action_index=2).update(record=b"\x01no")
    AgentCallEnvelope.objects.filter(agent_id="b").update(body=compress(b"other"))
    reasons = [(each["agentId"], each["actionIndex"], each["reason"]) for each in export(tmp_path)["missing"]]
    assert reasons == [("a", 2, "unreadable"), ("b", 1, "envelope_damaged")]
    wipe()
    assert take(tmp_path)["prompts"] == {
        "verified": 1,
        "mismatched": 0,
        "rewritten": 0,
        "unavailable": 1,
        "unreadable": 0,
    }


@pytest.mark.usefixtures("kept")
def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"nowhere.*cannot be written: No such file"):
        export(tmp_path / "nowhere")
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        take(tmp_path)
