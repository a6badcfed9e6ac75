"""Turns as plain JSON, from agents in any language: nothing is lost, nothing is believed, secrets are masked."""

import base64
import hashlib
import json
from typing import Any

import pytest
from django.test import Client as Http

from capture.api import shapes
from capture.api.writing import dumps
from capture.hands import get_hand_turns
from capture.merge import CapturedTurn
from capture_sdk.keys import envelope_key
from tests.build import HAND, TABLE

pytestmark = pytest.mark.django_db

KEY = "ingest-key-0123456789abcdef"
WHERE = {"tableId": TABLE, "handNumber": HAND, "agentId": "river-rat", "actionIndex": 7}
ENVELOPE, REST = "You play poker.\r\n" * 9, "Pot 140 \x00 ♠ \ud83d"
TOLD = f"{ENVELOPE}\n{REST}"
SHA256 = hashlib.sha256(TOLD.encode("utf-8", "surrogatepass")).hexdigest()
FULL: dict[str, Any] = WHERE | {
    "capturedAt": "2026-01-02T03:04:05+01:00",
    "agentVersionId": "v12",
    "knowledge": {"log": [1, 2**90, None], "odd": "\ud83d"},
    "envelope": ENVELOPE,
    "remainder": REST,
    "promptSha256": SHA256,
    "response": {"$bytes": base64.b64encode(b"\xc3\x28").decode()},
    "reasoning": "top pair",
    "decision": [{"action": "raise", "amount": 100}],
    "action": "raise",
    "amount": 120,
    "adjustments": [{"rule": "clamp", "before": 120, "after": 100, "why": "stack"}],
    "attempts": [
        {"status": "503", "latencyMs": 12.5, "error": "overloaded"},
        {"status": "ok", "response": "x"},
    ],
    "model": "m",
    "provider": "p",
    "routing": "primary",
    "usage": {"prompt_tokens": 9},
    "costMicros": 4_100,
    "latencyMs": 1900,
    "clientId": "go-1",
    "sequence": 0,
    "losses": {"store_down": 2},
    "run": {"agentId": "dealer", "runId": "r:1"},
}


@pytest.fixture(autouse=True)
def _keys(settings: Any, buffer: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"go:ingest:{KEY};one:ingest@one:bound-{KEY}"


def send(*items: Any, key: str = KEY) -> list[dict[str, str]]:
    head = {"X-Service-Key": key}
    body = json.dumps({"turns": items})
    path = "/internal/agent-capture/turns"
    answer = Http().post(path, body, content_type="application/json", headers=head)
    assert answer.status_code == 200, answer.content
    results: list[dict[str, str]] = answer.json()["results"]
    return results


def captured() -> CapturedTurn:
    (turn,) = get_hand_turns(TABLE, HAND, agent_id="river-rat").turns
    assert turn.record is not None
    return turn


def written() -> str:
    """The captured turn as an answer has it."""
    return dumps(shapes.turn_json(captured())).decode()


def test_every_field_comes_back_as_it_was_sent() -> None:
    assert send(FULL) == [{"status": "written"}]
    shown = json.loads(written())
    left = {"envelope", "remainder", "capturedAt", "losses", "attempts", "tableId", "handNumber"}
    assert {name: shown[name] for name in FULL if name not in left} == {
        name: value for name, value in FULL.items() if name not in left
    }
    assert (shown["prompt"], shown["promptStatus"]) == (TOLD, "verified")
    assert (shown["capturedAt"], shown["isClamped"]) == ("2026-01-02T02:04:05Z", True)
    assert [each["status"] for each in shown["attempts"]] == ["503", "ok"]


def test_what_is_left_out_was_not_captured_and_what_is_empty_was() -> None:
    send(WHERE | {"knowledge": {}, "decision": [], "response": ""})
    record = captured().record
    assert record is not None
    assert (record.prompt, record.usage, record.messages, record.response) == (None, None, [], "")
    assert record.knowledge is not None


def test_two_turns_share_one_envelope(buffer: Any) -> None:
    send(FULL, FULL | {"actionIndex": 8})
    assert buffer.keys("env:*") == [envelope_key(hashlib.sha256(ENVELOPE.encode()).hexdigest()).encode()]


def test_an_envelope_that_is_known_need_not_be_sent_again(buffer: Any) -> None:
    env_hash = hashlib.sha256(ENVELOPE.encode()).hexdigest()
    short = WHERE | {"actionIndex": 9, "envHash": env_hash, "remainder": REST, "promptSha256": SHA256}
    assert send(short) == [{"status": "envelope_needed"}]
    assert send(FULL, short) == [{"status": "written"}] * 2
    turns = get_hand_turns(TABLE, HAND, agent_id="river-rat").turns
    assert [turn.prompt_status for turn in turns] == ["verified", "verified"]


@pytest.mark.parametrize("prompt", ["one text\r\n", {"$bytes": base64.b64encode(b"\xff\x00").decode()}, ""])
def test_a_prompt_may_come_whole(prompt: Any) -> None:
    send(WHERE | {"prompt": prompt})
    shown = json.loads(written())
    assert (shown["prompt"], shown["promptStatus"], shown["envHash"]) == (prompt, "verified", None)


def test_a_prompt_may_be_a_list_of_messages() -> None:
    send(WHERE | {"prompt": [{"role": "system", "content": "Spiele ♠"}]})
    shown = json.loads(written())
    assert shown["prompt"] == '[{"role":"system","content":"Spiele ♠"}]'
    assert shown["promptIsMessages"] is True


def test_secrets_are_masked_on_arrival_since_no_sdk_did_it() -> None:
    secret = "sk-live-4eC39HqLyjWDarjtT1zdp7dc"
    send(
        FULL
        | {"knowledge": {"apiKey": secret}, "decision": [{"agentToken": secret}], "routing": f"key {secret}"}
    )
    turn = captured()
    assert secret not in written()
    assert turn.record is not None
    assert sum(turn.record.redactions.values()) >= 3
    assert turn.record.policy is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tableId": ""}, "tableId"),
        ({"handNumber": -1}, "handNumber"),
        ({"actionIndex": "7"}, "actionIndex"),
        ({"agentId": None}, "agentId"),
        ({"surprise": 1}, "'surprise' is no field"),
        ({"prompt": "x"}, "either prompt or envelope"),
        ({"promptSha256": "0" * 64}, "promptSha256 says"),
        ({"promptSha256": "ABC"}, "64 small hex digits"),
        ({"envelope": 7}, "envelope must be text"),
        ({"response": {"$bytes": "%%"}}, "response is not base64"),
        ({"decision": {}}, "decision must be a list"),
        ({"amount": True}, "amount must be a number"),
        ({"capturedAt": "yesterday"}, "capturedAt is 'yesterday'"),
        ({"capturedAt": "2026-01-02T03:04:05"}, "names no offset"),
        ({"latencyMs": "fast"}, "latencyMs must be a number"),
        ({"costMicros": 10**13}, "costMicros is 10000000000000"),
        ({"losses": {"x": -1}}, "losses.x"),
        ({"adjustments": [{"what": 1}]}, "adjustments must be an object"),
        ({"attempts": [{"status": 503}]}, "attempts.status must be text"),
        ({"sequence": 2**63}, "sequence"),
        ({"run": "r-1"}, "run"),
        ({"run": {"agentId": "a", "runId": ""}}, "Run id"),
    ],
)
def test_a_bad_field_is_named_and_costs_its_item_alone(change: dict[str, Any], said: str) -> None:
    bad, good = send(FULL | change, FULL | {"actionIndex": 1})
    assert (bad["status"], good["status"]) == ("refused", "written")
    assert said in bad["message"]


def test_a_bound_key_writes_for_its_own_agents_alone() -> None:
    assert [each["status"] for each in send(FULL, FULL | {"agentId": "one"}, key=f"bound-{KEY}")] == [
        "refused",
        "written",
    ]


def test_the_time_of_arrival_stands_where_none_is_told() -> None:
    send(WHERE | {"response": "x"})
    record = captured().record
    assert record is not None
    assert record.captured_at.tzinfo is not None
