"""Buffer ∪ durable ∪ ledger gives one honest stream: pure, so every case is a table of values."""

import datetime
from dataclasses import replace

import pytest

from capture.absence import Clock, Gap, Why
from capture.buffer import BufferedTurn
from capture.merge import CapturedTurn, DurableTurn, HandState, HandView, Source, merge, standing
from capture_sdk.prompt import split
from capture_sdk.records import Charge, TurnKey, TurnRecord

NOW = datetime.datetime(2026, 1, 2, 12, 0, tzinfo=datetime.UTC)
CLOCK = Clock(NOW, ttl_seconds=3_600)
HAND = ("t", 1)


def record(index: int, *, agent: str = "a", version: str | None = None, **fields: object) -> TurnRecord:
    base = TurnRecord(
        key=TurnKey(*HAND, agent, index),
        captured_at=NOW,
        agent_version_id=version,
        prompt=split("env", "rest"),
        client_id="c",
        sequence=index,
    )
    return replace(base, **fields)  # type: ignore[arg-type]


def hot(found: TurnRecord | None, index: int = 0, agent: str = "a") -> BufferedTurn:
    key = found.key if found is not None else TurnKey(*HAND, agent, index)
    return BufferedTurn(key.agent_id, key.action_index, b"", found, 5_000)


def pinned(found: TurnRecord, version: str | None = None) -> DurableTurn:
    return DurableTurn(found.key, found, version)


def charge(index: int, *, agent: str = "a", hours_ago: int = 0, **fields: object) -> Charge:
    at = NOW - datetime.timedelta(hours=hours_ago)
    return replace(Charge(key=TurnKey(*HAND, agent, index), charged_at=at), **fields)  # type: ignore[arg-type]


def view(
    buffered: list[BufferedTurn] | None = None,
    durable: list[DurableTurn] | None = None,
    charges: list[Charge] | None = None,
) -> HandView:
    return merge(HAND, buffered=buffered, durable=durable, charges=charges, clock=CLOCK)


def test_turns_come_by_action_index_then_agent() -> None:
    found = view([hot(record(2)), hot(record(0)), hot(record(2, agent="b"))], [], [])
    assert [(turn.key.action_index, turn.key.agent_id) for turn in found.turns] == [
        (0, "a"),
        (2, "a"),
        (2, "b"),
    ]


def test_a_turn_in_both_stores_appears_once_from_the_buffer() -> None:
    (turn,) = view([hot(record(1))], [pinned(record(1))], []).turns
    assert (turn.source, turn.is_pinned, turn.ttl_ms) == (Source.BUFFER, True, 5_000)


def test_the_durable_turn_wins_when_its_envelope_is_the_only_one_left() -> None:
    (turn,) = view([hot(record(1).with_envelope(None))], [pinned(record(1))], []).turns
    assert (turn.source, turn.prompt_status) == (Source.DURABLE, "verified")


def test_a_gone_envelope_leaves_the_turn_and_says_so() -> None:
    (turn,) = view([hot(record(1).with_envelope(None))], [], []).turns
    assert (turn.prompt_status, turn.prompt_unavailable) == ("unavailable", "envelope_gone")


def test_a_turn_without_a_prompt_is_not_a_damaged_one() -> None:
    (turn,) = view([hot(record(1, prompt=None))], [], []).turns
    assert (turn.prompt_status, turn.prompt_unavailable) == ("unavailable", "not_captured")


def test_unreadable_bytes_stay_listed_as_mismatched() -> None:
    (turn,) = view([hot(None, 3)], [], []).turns
    assert (turn.key.action_index, turn.prompt_status, turn.prompt_unavailable) == (
        3,
        "mismatched",
        "record_unreadable",
    )


def test_a_readable_durable_turn_beats_unreadable_bytes() -> None:
    (turn,) = view([hot(None, 1)], [pinned(record(1))], []).turns
    assert (turn.source, turn.prompt_status) == (Source.DURABLE, "verified")


@pytest.mark.parametrize(
    ("in_record", "in_charge", "shown"), [("v2", "v1", "v2"), (None, "v1", "v1"), (None, None, None)]
)
def test_the_version_comes_from_the_record_else_from_the_charge(
    in_record: str | None, in_charge: str | None, shown: str | None
) -> None:
    found = view([hot(record(1, version=in_record))], [], [charge(1, agent_version_id=in_charge)])
    assert found.turns[0].agent_version_id == shown


def test_a_fallback_is_never_a_turn() -> None:
    found = view([], [], [charge(1, is_fallback=True)])
    assert (len(found.turns), len(found.fallbacks), len(found.missing)) == (0, 1, 0)
    assert found.standing.state is HandState.FALLBACK_ONLY


@pytest.mark.parametrize(("hours", "why"), [(0, Why.GONE), (2, Why.EXPIRED)])
def test_a_missing_turn_is_expired_only_when_its_time_has_passed(hours: int, why: Why) -> None:
    (missing,) = view([], [], [charge(1, hours_ago=hours)]).missing
    assert missing.reason is why


def test_a_gap_that_the_clients_losses_cover_is_lost() -> None:
    turns = [hot(record(0)), hot(record(3, sequence=3, losses={"queue_full": 2}))]
    found = view(turns, [], [charge(index) for index in range(4)])
    assert [(each.key.action_index, each.reason) for each in found.missing] == [(1, Why.LOST), (2, Why.LOST)]


def test_a_gap_that_the_losses_do_not_cover_is_gone() -> None:
    turns = [hot(record(0, losses={"queue_full": 2})), hot(record(3, sequence=3, losses={"queue_full": 3}))]
    assert {each.reason for each in view(turns, [], [charge(1), charge(2)]).missing} == {Why.GONE}


def test_another_clients_losses_explain_nothing() -> None:
    turns = [
        hot(record(0, agent="b", losses={"x": 0})),
        hot(record(3, agent="b", sequence=1, losses={"x": 9})),
    ]
    (missing,) = view(turns, [], [charge(2)]).missing
    assert missing.reason is Why.GONE


def test_a_buffer_that_does_not_answer_is_not_an_empty_one() -> None:
    found = view(None, [], [charge(1)])
    assert (found.buffer_ok, found.missing[0].reason) == (False, Why.BUFFER_UNAVAILABLE)
    assert found.standing.state is HandState.UNKNOWN


def test_pinned_rows_that_could_not_be_read_are_not_gone() -> None:
    (missing,) = view([], None, [charge(1)]).missing
    assert missing.reason is Why.DURABLE_UNAVAILABLE


def test_without_the_ledger_nothing_is_expected_and_nothing_called_complete() -> None:
    found = view([hot(record(1))], None, None)
    assert (found.durable_ok, found.expected, len(found.turns)) == (False, None, 1)
    assert found.standing.state is HandState.UNKNOWN


def test_a_gap_in_the_numbers_is_told_where_the_ledger_lists_nothing() -> None:
    turns = [hot(record(1, sequence=0)), hot(record(9, sequence=3))]
    found = view(turns, [], [])
    assert found.gaps == (Gap("a", 1, 9, 2, Why.GONE),)
    assert (found.standing.state, found.standing.turns) == (HandState.PARTLY_LIVE, 4)


def test_what_the_ledger_lists_is_not_told_twice() -> None:
    turns = [hot(record(1, sequence=0)), hot(record(9, sequence=3))]
    assert view(turns, [], [charge(4), charge(5)]).gaps == ()
    assert [gap.turns for gap in view(turns, [], [charge(4)]).gaps] == [1]


def test_turns_missing_before_the_first_are_a_gap_from_the_beginning() -> None:
    assert view([hot(record(4, sequence=2))], [], []).gaps == (Gap("a", None, 4, 2, Why.GONE),)


def test_an_unlisted_gap_that_the_losses_cover_is_lost() -> None:
    turns = [hot(record(1, sequence=0)), hot(record(9, sequence=3, losses={"store_down": 2}))]
    assert [gap.reason for gap in view(turns, [], []).gaps] == [Why.LOST]


def test_a_client_that_began_anew_leaves_no_gap() -> None:
    turns = [hot(record(1, sequence=5, client_id="old")), hot(record(2, sequence=0, client_id="new"))]
    assert [gap.before for gap in view(turns, [], []).gaps] == [1]


def test_without_a_store_a_gap_may_be_in_it() -> None:
    turns = [hot(record(1, sequence=0)), hot(record(9, sequence=3))]
    assert [gap.reason for gap in view(turns, None, None).gaps] == [Why.DURABLE_UNAVAILABLE]


def test_every_agent_of_any_source_is_named() -> None:
    found = view(
        [hot(record(1, agent="b"))],
        [pinned(record(2, agent="d"))],
        [charge(3, agent="c", is_fallback=True), charge(4)],
    )
    assert found.agents == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("live", "pins", "fallbacks", "turns", "hours", "buffer_ok", "state"),
    [
        (3, 0, 0, 3, 0, True, HandState.LIVE),
        (2, 0, 0, 3, 0, True, HandState.PARTLY_LIVE),
        (0, 3, 0, 3, 9, True, HandState.PINNED),
        (0, 1, 0, 3, 9, False, HandState.PINNED),
        (0, 0, 0, 3, 0, True, HandState.GONE),
        (0, 0, 0, 3, 9, True, HandState.EXPIRED),
        (0, 0, 2, 0, 9, True, HandState.FALLBACK_ONLY),
        (0, 0, 2, 0, 0, False, HandState.FALLBACK_ONLY),
        (0, 0, 0, 3, 9, False, HandState.UNKNOWN),
        (0, 0, 0, 0, 0, True, None),
    ],
)
def test_a_hand_has_one_of_seven_states_or_is_not_known_at_all(
    live: int, pins: int, fallbacks: int, turns: int, hours: int, buffer_ok: bool, state: HandState | None
) -> None:
    last_at = NOW - datetime.timedelta(hours=hours)
    found = standing(
        turns=turns,
        live=live,
        pinned=pins,
        fallbacks=fallbacks,
        ttl_ms=None,
        last_at=last_at,
        buffer_ok=buffer_ok,
        clock=CLOCK,
    )
    assert found.state is state


def test_clamped_is_read_from_the_messages() -> None:
    from capture_sdk.freeze import pack

    sent = record(1, action="raise", amount=240, decision=pack([{"action": "raise", "amount": 200}]))
    turn: CapturedTurn = view([hot(sent)], [], []).turns[0]
    assert turn.is_clamped
