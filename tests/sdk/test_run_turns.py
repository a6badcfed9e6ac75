"""A turn that is taken within a run names it, and a run that begins within a turn names its hand."""

import datetime

import pytest

from capture_sdk import TurnKey, TurnRecord
from capture_sdk.codec import decode, encode
from capture_sdk.runs import RunKey
from tests.build import Seat, memory_client
from tests.sdk.recorded import recorded

AT = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)


def test_a_turn_within_a_run_names_it() -> None:
    client, transport = memory_client()
    with recorded() as at:
        Seat(client).play(1)
        with at.client.with_run("session") as run, run.tool_execution("play"):
            Seat(client).play(2)
        Seat(client).play(3)
        assert [each.run for each in transport.records()] == [None, run.key, None]


@pytest.mark.parametrize("as_key", [True, False])
def test_a_turn_can_be_told_its_run(as_key: bool) -> None:
    client, transport = memory_client()
    with recorded() as at, at.client.with_run("session") as run:
        pass
    given = run.key if as_key else run
    with client.turn(table_id="t", hand_number=1, agent_id="a", action_index=1, run=given) as turn:
        turn.response("fold")
    assert client.flush(5)
    assert transport.records()[0].run == run.key


def test_a_run_within_a_turn_names_its_hand() -> None:
    client, _ = memory_client()
    with recorded() as at:
        with Seat(client).turn(1), at.client.with_run("thinking"):
            pass
        assert at.fields("run.started")["hand"] == {"tableId": "table-7", "handNumber": 42}


def test_a_record_keeps_its_run_and_an_old_one_has_none() -> None:
    record = TurnRecord(key=TurnKey("t", 1, "a", 1), captured_at=AT)
    assert decode(encode(record)).run is None
    kept = TurnRecord(key=TurnKey("t", 1, "a", 1), captured_at=AT, run=RunKey("claims", "r-1"))
    assert decode(encode(kept)) == kept
