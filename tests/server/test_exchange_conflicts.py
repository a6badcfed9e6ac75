"""An import meets what is here already, an export what is not kept: nothing is overwritten, nothing passed over."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from capture.exchange import import_hand
from capture.models import AgentAccess, AgentCallEnvelope, AgentCallRecord
from capture.pins.pin import promote
from capture_sdk.codec import compress
from tests.build import HAND, TABLE, play, seat
from tests.server.exchanging import export, keep, keep_a_hand, stored, take, wipe
from tests.site_process import PRODUCTION, manage

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept(buffer: Any) -> None:
    """See ``keep_a_hand``."""
    keep_a_hand(buffer)


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


def test_a_turn_in_the_buffer_that_no_ledger_knows_is_told_too(buffer: Any, tmp_path: Path) -> None:
    at = seat("a")
    at.play(1)
    seat("b").play(1)
    keep("a")
    at.play(2)
    mine = {"agentId": "a", "actionIndex": 2, "reason": "in_buffer"}
    assert export(tmp_path, "--agent", "a")["inBuffer"] == [mine]
    assert export(tmp_path)["inBuffer"] == [mine, {"agentId": "b", "actionIndex": 1, "reason": "in_buffer"}]


@pytest.mark.usefixtures("kept", "dead_buffer")
def test_an_export_needs_no_buffer_and_says_that_it_could_not_ask(tmp_path: Path) -> None:
    answer = export(tmp_path)
    assert (answer["turns"], answer["inBuffer"]) == (3, None)


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
def test_a_durable_store_that_is_down_is_one_sentence(tmp_path: Path) -> None:
    export(tmp_path)
    for command in (["export_hand", TABLE, "42", "x.zip"], ["import_hand", str(tmp_path / "hand.zip")]):
        finished = manage(*command, environment=PRODUCTION)
        assert finished.returncode == 1
        assert finished.stderr.splitlines()[-1].endswith("the durable store is unavailable")
        assert "Traceback" not in finished.stderr


@pytest.mark.usefixtures("kept")
def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"nowhere.*cannot be written: No such file"):
        export(tmp_path / "nowhere")
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        take(tmp_path)


def import_or_pin(path: Path, place: int) -> int:
    """One of several threads; returns how many turns it inserted."""
    try:
        if place % 2:
            return promote(TABLE, HAND, agent_id="a", by="test").inserted
        return import_hand(path / "hand.zip", by="test").records.inserted
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_imports_and_pins_at_once_count_each_turn_once(buffer: Any, tmp_path: Path) -> None:
    at = seat("a")
    for index in range(20):
        play(at, index)
    keep("a")
    export(tmp_path)
    before = stored()
    wipe()
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(partial(import_or_pin, tmp_path), range(4))) == [0, 0, 0, 20]
    assert (stored()[0].keys(), stored()[1:]) == (before[0].keys(), before[1:])
