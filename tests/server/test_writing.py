"""The fast encoder writes what the careful one writes, and is not asked where it would lose something."""

import json
from typing import Any

import pytest

from capture.api import shapes
from capture.api.writing import dumps, dumps_of, only_finite
from capture.hands import get_hand_turns
from tests.build import HAND, TABLE, fall_back, play, seat

pytestmark = pytest.mark.django_db

NAN, INFINITY = float("nan"), float("inf")
FINITE: dict[str, Any] = {
    "plain": {"a": [1, -2.5, None, True], "b": {"c": "d"}},
    "numbers": [2**53 + 1, 2**63 - 1, -(2**63), 1e308, 5e-324, -0.0, 0.1],
    "text": '"q" \\ \r\n\t\x00\x7f ♠ 🂡 </script>\u2028',
    "refused by the fast one": ["half \ud83d", 2**64, 10**5_000, b"\xff"],
    "deep": json.loads("[" * 300 + "]" * 300),
}


def read(**options: Any) -> tuple[Any, Any]:
    """A turn with these, as the hand's answer and as the careful encoder have it."""
    play(seat(), 1, **options)
    fall_back(seat(), 2)
    view = get_hand_turns(TABLE, HAND, agent_id="river-rat")
    shape = shapes.hand_json(view)
    fast = json.loads(dumps_of(view, shape), parse_constant=pytest.fail)
    return fast, json.loads(dumps(shape), parse_constant=pytest.fail)


@pytest.mark.parametrize("name", list(FINITE))
def test_both_encoders_write_the_same(buffer: Any, name: str) -> None:
    value = FINITE[name]
    text = value if isinstance(value, str) else "plain"
    fast, careful = read(knowledge={"x": value}, response=text, envelope=text, remainder=text)
    assert fast == careful
    assert fast["turns"][0]["promptStatus"] == "verified"


@pytest.mark.parametrize("value", [NAN, INFINITY, -INFINITY])
@pytest.mark.parametrize("where", ["knowledge", "usage", "parsed", "latency_ms"])
def test_a_number_that_is_not_finite_is_never_null(buffer: Any, where: str, value: float) -> None:
    given = {"knowledge": {"deep": [{"x": value}]}, "usage": {"x": value}, "parsed": ("raise", value)}
    fast, careful = read(**{where: given.get(where, value)})
    assert fast == careful
    assert json.dumps(fast).count("$float") >= 1
    assert not only_finite(get_hand_turns(TABLE, HAND, agent_id="river-rat"))


def test_one_in_an_adjustment_or_an_attempt_is_found_too(buffer: Any) -> None:
    at = seat()
    for index, value in enumerate((NAN, INFINITY)):
        with at.turn(index) as turn:
            turn.attempt("429", latency_ms=value if index else 1.5)
            turn.response("x")
            turn.adjusted("r", {"a": [1]}, {"a": [1 if index else value]}, "w")
    at.client.flush(5)
    for index in (0, 1):
        view = get_hand_turns(TABLE, HAND, agent_id="river-rat")
        assert not only_finite(view)
        assert json.loads(dumps_of(view, shapes.turn_json(view.turns[index])), parse_constant=pytest.fail)


def test_an_ordinary_hand_takes_the_fast_way(buffer: Any) -> None:
    for index in range(20):
        play(seat(), index, usage={"prompt_tokens": 7, "share": 0.25}, latency_ms=1234.5)
    assert only_finite(get_hand_turns(TABLE, HAND, agent_id="river-rat"))
