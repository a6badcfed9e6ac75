"""The service-key API: honest answers, one error shape, exact bytes."""

import base64
import contextlib
import hashlib
import json
from typing import Any

import pytest

from capture_sdk import CapturePolicy, Rule
from tests.build import ENVELOPE, HAND, REMAINDER, TABLE, fall_back, play, seat, take
from tests.described import DescribedHttp as Http

pytestmark = pytest.mark.django_db

ROOT = "/internal/agent-capture/"
OPERATOR = "operator-key-0123456789abcdef"
OWNER = "owner-key-0123456789abcdef"
BOUND = "bound-key-0123456789abcdef"
WRITER = "writer-key-0123456789abcdef"
SEAT = {"tableId": TABLE, "handNumber": HAND, "agentId": "river-rat"}


@pytest.fixture(autouse=True)
def keys(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = ";".join(
        [
            f"operator:read-all+promote:{OPERATOR}",
            f"owner:read-own+promote:{OWNER}",
            f"bound:read-own+promote@river-rat,a%3Bb:{BOUND}",
            f"writer:ingest:{WRITER}",
        ]
    )


def get(path: str, key: str | None = OPERATOR, **params: Any) -> Any:
    headers = {} if key is None else {"X-Service-Key": key}
    return Http().get(ROOT + path, params, headers=headers)


def post(path: str, body: Any, key: str = OPERATOR) -> Any:
    return Http().post(ROOT + path, body, content_type="application/json", headers={"X-Service-Key": key})


def test_hand_answers_with_everything_a_turn_has(buffer: Any) -> None:
    play(
        seat(), 7, reasoning="top pair", usage={"prompt_tokens": 10}, sent={"action": "raise", "amount": 100}
    )
    answer = get("hand", OWNER, **SEAT).json()
    (turn,) = answer["turns"]
    assert turn["prompt"] == f"{ENVELOPE}\n{REMAINDER}"
    assert turn["promptSha256"] == hashlib.sha256(turn["prompt"].encode()).hexdigest()
    assert turn["knowledge"] == {"state": {"pot": 140}, "actionLog": []}
    assert (turn["promptStatus"], turn["source"], turn["isClamped"]) == ("verified", "buffer", True)
    assert turn["decision"][0]["agentToken"] == "[REDACTED:secret-name:17]"
    assert (turn["reasoning"], turn["usage"], turn["costMicros"]) == (
        "top pair",
        {"prompt_tokens": 10},
        4_100,
    )
    assert (turn["sequence"], turn["agentVersionId"], turn["action"], turn["amount"]) == (
        0,
        "v12",
        "raise",
        120,
    )


def test_fallbacks_and_missing_turns_stand_apart(buffer: Any) -> None:
    at = seat()
    play(at, 1)
    play(at, 2)
    fall_back(at, 3)
    buffer.delete("turn:table-7:42:river-rat:2")
    answer = get("hand", OWNER, **SEAT).json()
    assert [turn["actionIndex"] for turn in answer["turns"]] == [1]
    assert [row["fallbackReason"] for row in answer["fallbacks"]] == ["timeout"]
    assert answer["missing"] == [{"agentId": "river-rat", "actionIndex": 2, "reason": "gone"}]
    assert answer["expected"] == {"turns": 2, "fallbacks": 1}
    assert answer["sources"] == {"buffer": "ok", "durable": "ok"}


def test_hand_all_has_every_agent_also_the_pinned_and_the_merely_charged(buffer: Any) -> None:
    play(seat("pinned"), 1)
    post("promote", SEAT | {"agentId": "pinned"})
    buffer.flushall()
    play(seat("live"), 2)
    fall_back(seat("charged"), 3)
    answer = get("hand-all", tableId=TABLE, handNumber=HAND).json()
    assert [(turn["agentId"], turn["source"]) for turn in answer["turns"]] == [
        ("pinned", "durable"),
        ("live", "buffer"),
    ]
    assert [row["agentId"] for row in answer["fallbacks"]] == ["charged"]


def test_a_hand_nobody_played_is_empty_and_not_an_error(buffer: Any) -> None:
    answer = get("hand", OWNER, **SEAT).json()
    assert (answer["turns"], answer["expected"]) == ([], {"turns": 0, "fallbacks": 0})


def test_unset_is_null_and_empty_is_empty(buffer: Any) -> None:
    at = seat()
    with at.client.turn(table_id=TABLE, hand_number=HAND, agent_id="river-rat", action_index=1) as turn:
        turn.response("")
    with at.turn(2) as turn:
        turn.knows()
    at.client.flush()
    bare, empty = get("hand", OWNER, **SEAT).json()["turns"]
    assert (bare["knowledge"], bare["decision"], bare["response"]) == (None, None, "")
    assert (empty["knowledge"], empty["decision"], empty["response"]) == ({}, [], None)


def test_any_text_arrives_as_strict_json(buffer: Any) -> None:
    odd = {"half": "\ud83d", "nan": float("nan"), "wide": 2**90, "bytes": b"\xff", "nul": "\x00"}
    play(seat(), 1, knowledge=odd, response=b"\xc3\x28")
    raw = get("hand", OWNER, **SEAT).content
    (turn,) = json.loads(raw, parse_constant=pytest.fail)["turns"]
    assert turn["knowledge"] == {
        **odd,
        "nan": {"$float": "nan"},
        "bytes": {"$bytes": base64.b64encode(b"\xff").decode()},
    }
    assert turn["response"] == {"$bytes": base64.b64encode(b"\xc3\x28").decode()}
    assert raw.isascii()


def test_a_flipped_byte_in_the_buffer_is_reported_on_the_turn(buffer: Any) -> None:
    play(seat(), 1)
    (key,) = buffer.keys("env:*")
    buffer.setrange(key, 3, b"!")
    (turn,) = get("hand", OWNER, **SEAT).json()["turns"]
    assert turn["promptStatus"] == "mismatched"


def test_a_flipped_byte_in_a_record_leaves_the_turn_listed(buffer: Any) -> None:
    play(seat(), 1)
    key = "turn:table-7:42:river-rat:1"
    data = bytearray(buffer.get(key))
    data[-1] ^= 1
    buffer.set(key, bytes(data), ex=100)
    (turn,) = get("hand", OWNER, **SEAT).json()["turns"]
    assert (turn["actionIndex"], turn["promptStatus"], turn["promptUnavailable"]) == (
        1,
        "mismatched",
        "record_unreadable",
    )


def test_a_turn_whose_dictionary_went_stays_listed_and_is_said_to_be_gone(buffer: Any) -> None:
    play(seat(), 1)
    buffer.delete(*buffer.keys("dict:*"))
    (turn,) = get("hand", OWNER, **SEAT).json()["turns"]
    assert (turn["actionIndex"], turn["promptStatus"], turn["promptUnavailable"]) == (
        1,
        "unavailable",
        "dictionary_gone",
    )
    assert turn["knowledge"] is None


def test_a_pinned_hand_needs_no_dictionary(buffer: Any) -> None:
    for index in range(3):
        play(seat(), index)
    assert post("promote", SEAT).json()["total"] == 3
    buffer.flushall()
    turns = get("hand", OWNER, **SEAT).json()["turns"]
    assert [turn["promptStatus"] for turn in turns] == ["verified"] * 3


def test_a_message_that_did_not_leave_and_a_rewritten_prompt_are_said_to_be(buffer: Any) -> None:
    at = seat()
    at.client._delivery.policy = CapturePolicy(rules=[Rule("prompt", "mask")])
    with at.turn(1) as turn:
        take(turn, at.outbox)
        at.outbox._send = fail
        with contextlib.suppress(ConnectionError):
            at.outbox.send({"action": "raise", "amount": 7})
    at.client.flush(5)
    (answer,) = get("hand", OWNER, **SEAT).json()["turns"]
    assert answer["unsent"] == [{"message": {"action": "raise", "amount": 7}, "error": "ConnectionError"}]
    assert (answer["promptStatus"], answer["promptUnavailable"]) == ("mismatched", "rewritten")
    assert answer["rewritten"] == ["prompt"]
    assert answer["policy"].startswith("defaults-")


def fail(message: Any) -> None:
    raise ConnectionError


@pytest.mark.parametrize("text", ["plain", "half \ud83d", "nul\x00", "\r\n", b"\xff\x00"])
def test_the_prompt_endpoint_gives_the_exact_bytes(buffer: Any, text: Any) -> None:
    play(seat(), 1, envelope=text, remainder=text, knowledge={})
    response = get("prompt", OWNER, **SEAT, actionIndex=1)
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    assert response.content == raw + b"\n" + raw
    assert response["X-Prompt-Sha256"] == hashlib.sha256(response.content).hexdigest()
    assert response["Content-Type"] == "application/octet-stream"
    assert all(type(value) is str for value in response.headers.values())
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_prompt_that_was_never_captured_is_404_and_one_that_went_is_410(buffer: Any) -> None:
    at = seat()
    play(at, 1)
    fall_back(at, 2)
    buffer.delete("turn:table-7:42:river-rat:1")
    assert get("prompt", OWNER, **SEAT, actionIndex=1).status_code == 410
    assert get("prompt", OWNER, **SEAT, actionIndex=2).status_code == 404
    assert get("prompt", OWNER, **SEAT, actionIndex=3).status_code == 404


def test_a_prompt_whose_envelope_went_is_410(buffer: Any) -> None:
    play(seat(), 1)
    buffer.delete(*buffer.keys("env:*"))
    assert get("prompt", OWNER, **SEAT, actionIndex=1).status_code == 410


def test_promote_answers_with_what_it_did(buffer: Any) -> None:
    play(seat(), 1)
    assert post("promote", SEAT).json() == {"status": "pinned", "inserted": 1, "total": 1, "missing": 0}
    assert post("promote", SEAT).json()["status"] == "already_pinned"


def test_recent_hands_walk_every_hand_once(buffer: Any) -> None:
    for hand_number in range(7):
        play(seat(hand_number=hand_number), 1)
    seen: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = get("recent-hands", limit=3, **cursor).json()
        seen += [hand["handNumber"] for hand in page["hands"]]
        play(seat(hand_number=100 + len(seen)), 1)  # new hands go on arriving
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert seen == [6, 5, 4, 3, 2, 1, 0]


def test_recent_hands_say_what_each_hand_is(buffer: Any) -> None:
    play(seat(hand_number=1), 1)
    post("promote", SEAT | {"handNumber": 1})
    fall_back(seat(hand_number=2), 1)
    play(seat(hand_number=3), 1)
    buffer.delete("turn:table-7:3:river-rat:1")
    play(seat(hand_number=4), 1)
    hands = get("recent-hands").json()["hands"]
    assert [hand["state"] for hand in hands] == ["live", "gone", "fallback_only", "pinned"]
    assert hands[0]["expiresInMs"] > 86_000_000


@pytest.mark.parametrize("key", [None, "", "wrong", "\x80é", "x" * 10_000, OPERATOR[:-1], OPERATOR + "x"])
@pytest.mark.parametrize("path", ["hand", "hand-all", "promote", "recent-hands", "prompt", "no/such", ""])
def test_without_a_key_everything_is_401(key: str | None, path: str) -> None:
    response = get(path, key)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "no_key"


@pytest.mark.parametrize(
    ("path", "key", "status"),
    [
        ("hand-all", OWNER, 403),
        ("recent-hands", OWNER, 403),
        ("hand", WRITER, 403),
        ("prompt", WRITER, 403),
        ("hand-all", BOUND, 403),
        ("hand", BOUND, 200),
        ("hand", OPERATOR, 200),
        ("no/such", OPERATOR, 404),
        ("promote", OPERATOR, 405),
    ],
)
def test_a_key_does_what_its_scope_says(buffer: Any, path: str, key: str, status: int) -> None:
    assert get(path, key, **SEAT).status_code == status


def test_a_bound_key_reads_and_pins_its_own_agents_only(buffer: Any) -> None:
    assert get("hand", BOUND, **SEAT | {"agentId": "rival"}).status_code == 403
    assert get("prompt", BOUND, **SEAT | {"agentId": "rival"}, actionIndex=1).status_code == 403
    assert post("promote", SEAT | {"agentId": "rival"}, BOUND).status_code == 403
    assert get("hand", BOUND, **SEAT | {"agentId": "a;b"}).status_code == 200


@pytest.mark.parametrize("left_out", ["tableId", "handNumber", "agentId"])
def test_hand_needs_all_three(left_out: str) -> None:
    response = get("hand", OWNER, **{name: value for name, value in SEAT.items() if name != left_out})
    assert response.status_code == 400
    assert response.json()["error"]["fields"] == {left_out: "missing"}


@pytest.mark.parametrize("number", ["-1", "x", "²", str(2**63), "1" * 5_000, " 1", "0x1", "NaN"])
def test_a_hand_number_that_is_none_is_400(number: str) -> None:
    response = get("hand", OWNER, **SEAT | {"handNumber": number})
    assert response.status_code == 400
    assert "handNumber" in response.json()["error"]["fields"]


@pytest.mark.parametrize(
    ("limit", "status"), [("1", 200), ("200", 200), ("0", 400), ("201", 400), ("x", 400)]
)
def test_a_page_has_a_size(buffer: Any, limit: str, status: int) -> None:
    assert get("recent-hands", limit=limit).status_code == status


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"tableId": 1}', b"[" * 60_000])
def test_a_body_that_is_no_command_is_400(body: bytes) -> None:
    assert post("promote", body).status_code == 400


def test_a_body_that_is_too_large_is_413_and_names_the_limit() -> None:
    response = post("promote", b" " * 70_000)
    assert response.status_code == 413
    assert "65536 bytes" in response.json()["error"]["message"]


def test_a_command_with_a_nonsense_length_is_no_500() -> None:
    headers = {"X-Service-Key": OPERATOR, "Content-Length": "many"}
    assert (
        Http().post(ROOT + "promote", b"{}", content_type="application/json", headers=headers).status_code
        == 400
    )


def test_a_buffer_that_is_down_leaves_the_durable_turns(buffer: Any, settings: Any, tmp_path: Any) -> None:
    at = seat()
    play(at, 1)
    post("promote", SEAT)
    play(at, 2)
    dead = settings.CACHES["capture"] | {"LOCATION": f"unix://{tmp_path}/nobody.sock"}
    settings.CACHES = settings.CACHES | {"capture": dead}
    answer = get("hand", OWNER, **SEAT).json()
    assert answer["sources"] == {"buffer": "unavailable", "durable": "ok"}
    assert [turn["actionIndex"] for turn in answer["turns"]] == [1]
    assert answer["missing"] == [{"agentId": "river-rat", "actionIndex": 2, "reason": "buffer_unavailable"}]
    assert post("promote", SEAT).status_code == 503
    assert get("prompt", OWNER, **SEAT, actionIndex=2).status_code == 503


def test_keys_never_stand_in_an_answer_or_a_log(buffer: Any, caplog: Any) -> None:
    for path in ("hand", "hand-all", "no/such"):
        assert OPERATOR not in get(path).content.decode()
        get(path, "a-wrong-key-that-is-secret")
    assert "key-0123456789" not in caplog.text
    assert "a-wrong-key" not in caplog.text
