"""Answers in every situation are as the API describes them, key by key."""

import datetime
from typing import Any

import pytest

from capture.absence import Clock, MissingTurn, Why
from capture.api import shapes
from capture.buffer import BufferedTurn
from capture.merge import HandState, HandView, Source, Standing, merge
from capture.pins.pin import Pin, PinStatus
from capture_sdk import CapturePolicy, Rule
from capture_sdk.prompt import PromptStatus
from capture_sdk.records import Charge, RunKey, TurnKey
from tests.build import HAND, TABLE, fall_back, play, seat, take
from tests.described import DescribedHttp, assert_conforms, description

pytestmark = pytest.mark.django_db

ROOT = "/internal/agent-capture/"
KEY = "operator-key-0123456789abcdef"
SEAT = {"tableId": TABLE, "handNumber": HAND, "agentId": "river-rat"}
NOW = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
CHARGE = Charge(key=TurnKey(TABLE, HAND, "river-rat", 1), charged_at=NOW)
FACTS: dict[str, Any] = {"usage": {"in": 9}, "routing": "eu"}
CLOCK = Clock(NOW, 86_400)
ODD = [float("nan"), float("inf"), -(10**30), 10**5_000, True, 1.5, "half \ud83d", b"\xff"]


@pytest.fixture(autouse=True)
def _keys(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"operator:read-own+read-all+promote+ingest:{KEY}"


def get(path: str, **params: Any) -> Any:
    return DescribedHttp(headers={"X-Service-Key": KEY}).get(ROOT + path, params)


def post(path: str, body: Any, **head: str) -> Any:
    client = DescribedHttp(headers={"X-Service-Key": KEY} | head, raise_request_exception=False)
    return client.post(ROOT + path, body, content_type="application/json")


def keys_of(name: str) -> set[str]:
    return set(description()["components"]["schemas"][name]["required"])


def assert_is(name: str, value: object) -> None:
    assert_conforms(value, {"$ref": f"#/components/schemas/{name}"})


def everything(buffer: Any) -> Any:
    """A turn with everything set, as it is answered."""
    at = seat()
    at.client._delivery.policy = CapturePolicy(rules=[Rule("knowledge.hole", "artifact_only")])
    with at.turn(1) as turn:
        turn.run = RunKey("river-rat", "session-1")
        turn.attempt("429", latency_ms=12.5, error="slow down", model="gpt-test", provider="openai")
        take(turn, at.outbox, knowledge={"hole": "As Ks"}, response=b"\xff", reasoning="top", **FACTS)
        turn.adjusted("cap", {"amount": 120}, {"amount": 100}, "more than the stack")
        at.outbox._send = refuse
        with pytest.raises(ConnectionError):
            at.outbox.send({"action": "raise", "amount": 100})
    at.client.flush(5)
    return get("hand", **SEAT).json()["turns"][0]


def refuse(message: object) -> None:
    raise ConnectionError


def test_a_turn_with_everything_has_every_key_and_nothing_unset(buffer: Any) -> None:
    turn = everything(buffer)
    assert set(turn) == keys_of("Turn")
    assert {name for name, value in turn.items() if value is None} == {"promptUnavailable", "error"}
    assert set(turn["adjustments"][0]) == keys_of("Adjustment")
    assert set(turn["attempts"][0]) == keys_of("Attempt")
    assert turn["artifacts"]


def test_a_fallback_with_everything_has_every_key(buffer: Any) -> None:
    fall_back(seat(), 1)
    answer = get("hand-all", tableId=TABLE, handNumber=HAND).json()
    assert set(answer) == keys_of("Hand")
    assert set(answer["fallbacks"][0]) == keys_of("Fallback")
    assert set(answer["fallbacks"][0]["tokens"]) == keys_of("Tokens")
    assert set(answer["expected"]) == keys_of("Expected")


def test_a_page_and_a_pin_have_every_key(buffer: Any) -> None:
    play(seat(), 1)
    page = get("recent-hands").json()
    assert (set(page), set(page["hands"][0])) == (keys_of("RecentHands"), keys_of("HandSummary"))
    assert set(post("promote", SEAT).json()) == keys_of("Pin")


def view(turns: list[BufferedTurn] | None, **changes: Any) -> HandView:
    """A hand with what the stores gave."""
    given = {"durable": [], "charges": []} | changes
    return merge((TABLE, HAND), buffered=turns, clock=CLOCK, **given)


def hand_json(found: HandView) -> dict[str, object]:
    return shapes.hand_json(found)


@pytest.mark.parametrize("why", Why)
def test_every_reason_for_which_a_turn_is_missing_is_described(why: Why) -> None:
    hand = hand_json(view([]))
    hand["missing"] = hand_json(_with_missing(why))["missing"]
    assert_is("Hand", hand)


def _with_missing(why: Why) -> HandView:
    empty = view([])
    fields = {name: getattr(empty, name) for name in HandView.__dataclass_fields__}
    return HandView(**fields | {"missing": (MissingTurn(CHARGE, why),)})


@pytest.mark.parametrize("state", HandState)
@pytest.mark.parametrize("ttl_ms", [None, 0, 86_400_000])
def test_every_state_of_a_hand_is_described(state: HandState, ttl_ms: int | None) -> None:
    standing = shapes.standing_json(Standing(state, 1, 1, 0, ttl_ms))
    assert_is("Hand", hand_json(view([])) | standing)


@pytest.mark.parametrize("status", PinStatus)
def test_every_outcome_of_a_pin_is_described(status: PinStatus) -> None:
    assert_is("Pin", shapes.pin_json(Pin(status, 0, 2, 1)))


@pytest.mark.parametrize("source", Source)
@pytest.mark.parametrize("status", PromptStatus)
def test_every_source_and_prompt_status_is_described(source: Source, status: PromptStatus) -> None:
    (turn,) = view([BufferedTurn("river-rat", 1, b"", None, 1)]).turns
    said = {"source": source, "promptStatus": status}
    assert_is("Turn", shapes.turn_json(turn) | said)


def test_a_record_that_cannot_be_read_has_the_same_keys(buffer: Any) -> None:
    play(seat(), 1)
    buffer.set("turn:table-7:42:river-rat:1", b"\x01garbage", ex=100)
    (turn,) = get("hand", **SEAT).json()["turns"]
    assert set(turn) == keys_of("Turn")
    assert turn["capturedAt"] is None


def test_stores_that_do_not_answer_are_described(buffer: Any) -> None:
    assert_is("Hand", hand_json(view(None, charges=[CHARGE])))
    assert_is("Hand", hand_json(view([], durable=None, charges=None)))


def test_a_buffer_that_is_down_is_described(buffer: Any, dead_buffer: None) -> None:
    play_charge = {**SEAT, "actionIndex": 1, "chargedAt": "2026-01-31T12:00:00+01:00"}
    assert post("charges", {"charges": [play_charge]}).json() == {"results": [{"status": "written"}]}
    (missing,) = get("hand", **SEAT).json()["missing"]
    assert (set(missing), missing["reason"]) == (keys_of("Missing"), "buffer_unavailable")
    assert get("recent-hands").json()["sources"]["buffer"] == "unavailable"
    assert post("promote", SEAT)["Retry-After"] == "5"


@pytest.mark.parametrize("odd", ODD, ids="nan inf wide giant true fraction half bytes".split())
@pytest.mark.parametrize(
    "field", ["action", "amount", "status", "cost_micros", "latency_ms", "rule", "model"]
)
def test_an_odd_value_costs_no_hand_its_answer(buffer: Any, field: str, odd: Any) -> None:
    at = seat()
    with at.turn(1) as turn:
        turn.parsed(odd if field == "action" else "raise", odd if field == "amount" else 1)
        turn.attempt(odd if field == "status" else "timeout")
        turn.adjusted(odd if field == "rule" else "cap", odd, odd, "why")
        turn.response("", **({field: odd} if field in ("cost_micros", "latency_ms", "model") else {}))
    at.client.flush(5)
    assert len(get("hand", **SEAT).json()["turns"]) == 1
