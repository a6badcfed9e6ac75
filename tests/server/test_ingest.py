"""Ingest over real HTTP: turns reach the buffer through the code that every agent uses, charges the ledger."""

import gzip
import json
from typing import Any

import pytest
import urllib3

from capture.hands import get_hand_turns
from capture.models import AgentInferenceCharge
from capture_sdk import Client, LedgerError
from capture_sdk.codec import encode
from capture_sdk.wire import charge_json, turn_json
from tests.build import ENVELOPE, HAND, REMAINDER, TABLE, Seat, memory_client, opened

pytestmark = pytest.mark.django_db(transaction=True)

INGEST, BOUND, READER = (
    "ingest-key-0123456789abcdef",
    "bound-key-0123456789abcdef",
    "reader-key-0123456789abcdef",
)


@pytest.fixture
def site(live_server: Any, settings: Any, buffer: Any) -> str:
    settings.AGENT_CAPTURE_SERVICE_KEYS = ";".join(
        [f"agents:ingest:{INGEST}", f"rat:ingest@river-rat:{BOUND}", f"reader:read-all:{READER}"]
    )
    return str(live_server.url)


def client(site: str, key: str = INGEST, **options: Any) -> Client:
    return opened(base_url=site, service_key=key, **options)


def post(site: str, path: str, body: Any, *, key: str = INGEST, **headers: str) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with urllib3.connection_from_url(site) as pool:
        url = f"/internal/agent-capture/{path}"
        answer = pool.request("POST", url, body=data, headers={"X-Service-Key": key, **headers})
        return answer.status, json.loads(answer.data)


def record(action_index: int = 1, agent: str = "river-rat", **options: Any) -> Any:
    own, transport = memory_client()
    Seat(own, agent).play(action_index, **options)
    return transport.records()[0]


def item(made: Any, *, envelope: bool = True) -> dict[str, Any]:
    return turn_json(encode(made), made.prompt.env_hash, made.prompt.envelope if envelope else None)


def test_an_agent_without_redis_is_read_like_any_other(site: str) -> None:
    at = Seat(client(site))
    for index in range(3):
        turn = at.play(
            index, response="half \ud83d \x00 ♠", usage={"prompt_tokens": 9, "completion_tokens": 2}
        )
        at.client.record_charge(turn.charge())
        at.client.record_charge(turn.charge())
    view = get_hand_turns(TABLE, HAND, agent_id="river-rat")
    assert [each.prompt_status for each in view.turns] == ["verified"] * 3
    assert view.turns[0].record is not None
    assert view.turns[0].record.response == "half \ud83d \x00 ♠"
    assert (view.expected and view.expected.turns, view.missing) == (3, ())
    assert AgentInferenceCharge.objects.count() == 3


def test_the_keys_are_those_that_the_redis_transport_writes(site: str, buffer: Any) -> None:
    Seat(client(site)).play(7)
    kinds = sorted(key.decode().partition(":")[0] for key in buffer.scan_iter())
    assert kinds == ["agents", "dict", "env", "hand", "turn"]
    assert all(buffer.pttl(key) > 0 for key in buffer.scan_iter())


def test_an_envelope_that_went_is_asked_for_again(site: str, buffer: Any) -> None:
    at = Seat(client(site))
    at.play(1)
    for key in buffer.keys("env:*"):
        buffer.delete(key)
    at.play(2)
    view = get_hand_turns(TABLE, HAND, agent_id="river-rat")
    assert [each.prompt_status for each in view.turns] == ["verified", "verified"]


def test_one_bad_item_costs_neither_its_batch_nor_more_than_itself(site: str) -> None:
    good, other = record(1), record(2)
    lying = item(record(3)) | {"envelope": item(record(3, envelope="another"))["envelope"]}
    status, answer = post(
        site, "turns", {"turns": [item(good), {"record": "%%%"}, 7, lying, {"record": "AAAA"}, item(other)]}
    )
    assert status == 200
    assert [each["status"] for each in answer["results"]] == ["written", *["refused"] * 4, "written"]
    assert "base64" in answer["results"][1]["message"]
    assert "hash" in answer["results"][3]["message"]
    assert [each.key.action_index for each in get_hand_turns(TABLE, HAND, agent_id="river-rat").turns] == [
        1,
        2,
    ]


def test_an_envelope_nobody_has_is_asked_for_and_the_turn_not_written(site: str) -> None:
    _, answer = post(site, "turns", {"turns": [item(record(1), envelope=False)]})
    assert answer["results"] == [{"status": "envelope_needed"}]
    assert get_hand_turns(TABLE, HAND, agent_id="river-rat").turns == ()


def test_a_bound_key_ingests_for_its_own_agents_alone(site: str) -> None:
    _, answer = post(site, "turns", {"turns": [item(record(1)), item(record(1, "kim"))]}, key=BOUND)
    assert [each["status"] for each in answer["results"]] == ["written", "refused"]
    assert answer["results"][1]["reason"] == "not_yours"
    turn = Seat(client(site, BOUND), "kim").play
    with pytest.raises(AssertionError):
        turn(1)


def test_a_key_without_the_scope_writes_nothing(site: str) -> None:
    assert post(site, "turns", {"turns": [item(record(1))]}, key=READER)[0] == 403
    assert post(site, "charges", {"charges": []}, key="wrong")[0] == 401
    own = Seat(client(site, READER))
    with own.turn(1) as turn:
        turn.response("ok")
    assert own.client.flush(5).lost == {"http_403": 1}
    with pytest.raises(LedgerError, match="http_403"):
        own.client.record_charge(turn.charge())


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"handNumber": -1}, "handNumber"),
        ({"handNumber": 2**63}, "handNumber"),
        ({"handNumber": True}, "handNumber"),
        ({"tableId": "x" * 201}, "tableId"),
        ({"agentId": None}, "agentId"),
        ({"chargedAt": "yesterday"}, "yesterday"),
        ({"chargedAt": "2026-01-31T12:00:00"}, "names no offset"),
        ({"chargedAt": None}, "chargedAt is missing"),
        ({"inputTokens": 1.5}, "inputTokens"),
        ({"inputTokens": 2**63}, "inputTokens"),
        ({"isFallback": "yes"}, "isFallback must be bool"),
        ({"model": 7}, "model must be str"),
        ({"amount": [1]}, "amount"),
        ({"surprise": 1}, "surprise is no field"),
    ],
)
def test_a_bad_charge_is_refused_by_its_field_and_the_others_are_kept(
    site: str, change: Any, complaint: str
) -> None:
    good = charge_json(Seat(memory_client()[0]).play(1).charge())
    status, answer = post(site, "charges", {"charges": [good | change | {"actionIndex": 2}, good]})
    assert status == 200
    bad, fine = answer["results"]
    assert (bad["status"], fine["status"]) == ("refused", "written")
    assert complaint in bad["message"]
    assert AgentInferenceCharge.objects.count() == 1


def test_charges_of_any_digits_and_characters_are_kept(site: str) -> None:
    good = charge_json(Seat(memory_client()[0]).play(1).charge())
    odd = good | {"amount": 2**80, "model": "nul\x00 half \ud83d", "costMicros": 10**12, "attempts": 2**40}
    status, answer = post(site, "charges", {"charges": [odd]})
    assert (status, answer) == (200, {"results": [{"status": "written"}]})


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"turns": 7}', {}, 400),
        (b"not gzip", {"Content-Encoding": "gzip"}, 400),
        (gzip.compress(b'{"turns": []}')[:-6], {"Content-Encoding": "gzip"}, 400),
        (b"{}", {"Content-Encoding": "snappy"}, 415),
        (json.dumps({"turns": [1] * 1_001}).encode(), {}, 413),
        (gzip.compress(b" " * (65 * 1024 * 1024)), {"Content-Encoding": "gzip"}, 413),
        (gzip.compress(b'{"turns": []}'), {"Content-Encoding": "gzip"}, 200),
    ],
    ids=["no json", "a list", "no list", "no gzip", "cut gzip", "encoding", "items", "bomb", "empty"],
)
def test_a_body_is_taken_whole_or_refused_with_its_reason(
    site: str, body: bytes, headers: Any, status: int
) -> None:
    assert post(site, "turns", body, **headers)[0] == status


def test_a_batch_that_meets_a_dead_buffer_is_a_503_and_nothing_is_said_to_be_written(
    live_server: Any, settings: Any, dead_buffer: None
) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"agents:ingest:{INGEST}"
    assert post(live_server.url, "turns", {"turns": [item(record(1))]})[0] == 503


def test_the_told_prompt_is_the_same_bytes(site: str) -> None:
    Seat(client(site)).play(1)
    (turn,) = get_hand_turns(TABLE, HAND, agent_id="river-rat").turns
    assert turn.record is not None
    assert turn.record.prompt is not None
    assert turn.record.prompt.text() == f"{ENVELOPE}\n{REMAINDER}"
