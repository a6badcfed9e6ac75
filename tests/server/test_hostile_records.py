"""Records that no SDK wrote, from somebody with a key: refused by name, or read without a fault, never in between."""

from typing import Any

import pytest

from capture_sdk.codec import _to_map, frame
from capture_sdk.freeze import repack
from capture_sdk.wire import turn_json
from tests.build import HAND, TABLE, Seat, memory_client, play, seat
from tests.described import DescribedHttp as Http

pytestmark = pytest.mark.django_db

ROOT = "/internal/agent-capture/"
HEAD = {"X-Service-Key": "operator-key-0123456789abcdef"}
HAND_OF: dict[str, str | int] = {"tableId": TABLE, "handNumber": HAND}
SEAT: dict[str, str | int] = HAND_OF | {"agentId": "river-rat"}
NAN = float("nan")
WRONG: list[tuple[str, Any]] = [
    *(("knowledge", each) for each in ("text", b"\xc1")),
    *(("decision", each) for each in (b"\xa1a", 5)),
    *(("redactions", each) for each in ([1], {"a": "b"})),
    *(("rewritten", each) for each in ("abc", [[1]])),
    *(("artifacts", each) for each in ({"x": "s"}, [1])),
    *(("capturedAt", each) for each in ("2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", 5)),
    *(("adjustments", each) for each in ([[1, 2, 3, b"x"]], [["r", {"$bytes": b"1"}, NAN, 5]])),
    *(("sequence", each) for each in (-1, "x")),
    *(("attempts", each) for each in ([[b"x", 1, [b"x", True], None, 5]], [1])),
    *(("response", each) for each in ([b"x", 5], ["x", False])),
    *(("losses", each) for each in ("x", [1])),
    *(("cut", each) for each in ("prompt", [1, 2])),
    *((name, 5) for name in ("model", "policy", "prompt", "unsent", "tableId", "agentId", "actionIndex")),
    *((name, [NAN]) for name in ("latencyMs", "costMicros", "action", "error")),
    *(("clientId", {}), ("agentVersionId", NAN), ("amount", {"a": b"x"}), ("usage", {"a": 1})),
    *(("routing", b"x"), ("unsent", b"\x05"), ("handNumber", 42.0)),
]
WRONG_PROMPT: list[tuple[str, Any]] = [
    *(("envHash", 5), ("sha256", b"zz"), ("remainder", "str"), ("joiner", None), ("isText", 5)),
]


@pytest.fixture(autouse=True)
def _keys(settings: Any, buffer: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"op:read-all+promote+ingest:{HEAD['X-Service-Key']}"


def hostile(name: str, value: Any, *, in_prompt: bool = False) -> dict[str, object]:
    """A turn of the SDK with one field of its map, or of its prompt's, made into something else."""
    own, transport = memory_client()
    Seat(own).play(1)
    record = transport.records()[0]
    assert record.prompt is not None
    fields: dict[str, Any] = _to_map(record)
    (fields["prompt"] if in_prompt else fields)[name] = value
    return turn_json(frame(repack(fields)), record.prompt.env_hash, record.prompt.envelope)


def everything_answers() -> None:
    """Every way to read the turn, and the pin, give an answer that is as described."""
    for path, query in (("hand", SEAT), ("hand-all", HAND_OF), ("prompt", SEAT | {"actionIndex": 1})):
        assert Http(headers=HEAD).get(ROOT + path, query).status_code in (200, 404, 410)
    answer = Http(headers=HEAD).post(f"{ROOT}promote", SEAT, content_type="application/json")
    assert answer.status_code == 200


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_field_of_a_wrong_kind_costs_nobody_an_answer(name: str, value: Any) -> None:
    body = {"turns": [hostile(name, value)]}
    answer = Http(headers=HEAD).post(f"{ROOT}turns", body, content_type="application/json")
    assert answer.json()["results"][0]["status"] in ("written", "refused")
    everything_answers()


@pytest.mark.parametrize(("name", "value"), WRONG_PROMPT)
def test_nor_does_one_of_its_prompt(name: str, value: Any) -> None:
    body = {"turns": [hostile(name, value, in_prompt=True)]}
    Http(headers=HEAD).post(f"{ROOT}turns", body, content_type="application/json")
    everything_answers()


ODD: dict[str, Any] = {
    "nan": NAN,
    "infinity": float("inf"),
    "giant": 10**5_000,
    "negative": -(10**30),
    "true": True,
}
ODD |= {"bytes": b"x", "list": [1], "map": {"a": 1}, "half": "half \ud83d"}


@pytest.mark.parametrize("name", list(ODD))
def test_whatever_an_agent_calls_its_action_or_amount_is_read(name: str) -> None:
    at, value = seat(), ODD[name]
    play(at, 1)
    with at.turn(2) as turn:
        turn.parsed(value, value)
        turn.adjusted(rule="r", before=value, after=value, why="w")
    at.client.flush(5)
    everything_answers()
