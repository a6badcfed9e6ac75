"""Real model output, written by no one here: 109 decisions through the SDK, read back by the API."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import Client as Http

from capture.ledger import record_charges
from capture_sdk import Turn
from tests.build import Seat, seat
from tests.data import needs

KEY = "operator-key-0123456789abcdef"


@dataclass(frozen=True)
class Decision:
    """One decision of the bench, with what the table booked for it."""

    table: str
    hand: int
    index: int
    agent: str
    said: dict[str, Any]
    booked: dict[str, Any]

    @property
    def key(self) -> tuple[str, int, str, int]:
        return (self.table, self.hand, self.agent, self.index)

    @property
    def decided(self) -> tuple[str, int | None]:
        return (self.said["final_action"]["action"], self.said["final_action"]["raise_to"])

    @property
    def is_forced(self) -> bool:
        return "error" in self.said

    @property
    def prompt(self) -> tuple[str, str]:
        """The system message repeats turn after turn; the rest of the conversation is the turn's own."""
        system, *rest = self.said["conversation"]
        return system["content"], json.dumps(rest, ensure_ascii=False)


def decisions(folder: Path) -> Iterator[Decision]:
    for path in sorted(folder.glob("*/agents/*.json")):
        told = json.loads(path.read_text())
        book: dict[int, list[tuple[int, Any]]] = defaultdict(list)
        for place, action in enumerate(
            json.loads((path.parents[1] / "hands" / path.name).read_text())["actions"]
        ):
            book[action["seat"]].append((place, action))
        for number, said in told["decisions"].items():
            for order, each in enumerate(said):
                place, booked = book[int(number)][order]
                agent = f"{number} {each['agent_name']}"
                yield Decision(path.parents[1].name, told["hand_number"], place, agent, each, booked)


def replay(decision: Decision, at: Seat) -> Turn:
    """Take the recorded turn again: the answers that failed are attempts, the last one is the response."""
    said = decision.said
    *failed, last = said["llm_responses"]
    with at.turn(decision.index) as turn:
        turn.knows(observation=said["observation"], tool_calls=said["tool_calls"])
        turn.prompt(*decision.prompt)
        for answer in failed + ([last] if decision.is_forced else []):
            turn.attempt(
                "unusable",
                response=answer["content"],
                reasoning=answer["reasoning_content"],
                latency_ms=answer["latency_ms"],
                usage=answer["usage"],
            )
        if decision.is_forced:
            turn.fallback(said["error"])
        else:
            turn.response(
                last["content"],
                reasoning=last["reasoning_content"],
                model=said["agent_name"],
                usage=last["usage"],
                latency_ms=last["latency_ms"],
            )
        turn.parsed(*decision.decided)
        at.outbox.send({"action": decision.decided[0], "amount": decision.decided[1]})
    return turn


@pytest.fixture
def played(
    db: None, buffer: Any, settings: Any
) -> tuple[dict[Any, Decision], dict[Any, Any], dict[Any, Any]]:
    """The decisions by key, then the captured turns and the fallbacks that the API gives back for them."""
    found = {each.key: each for each in decisions(needs("02-poker-llm/live-poker-bench"))}
    seats: dict[Any, Seat] = {}
    turns = []
    for decision in found.values():
        where = (decision.agent, decision.table, decision.hand)
        at = seats.setdefault(where, seat(where[0], table_id=where[1], hand_number=where[2], version=None))
        turns.append(replay(decision, at))
    assert all(at.client.flush(10) for at in seats.values())
    record_charges([turn.charge() for turn in turns])
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"operator:read-all:{KEY}"
    return (found, *read_back(found))


def read_back(found: dict[Any, Decision]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    turns: dict[Any, Any] = {}
    fallbacks: dict[Any, Any] = {}
    for table, hand in sorted({key[:2] for key in found}):
        query = {"tableId": table, "handNumber": hand}
        answer = Http().get("/internal/agent-capture/hand-all", query, headers={"X-Service-Key": KEY}).json()
        assert answer["missing"] == []
        turns |= {(table, hand, turn["agentId"], turn["actionIndex"]): turn for turn in answer["turns"]}
        fallbacks |= {(table, hand, row["agentId"], row["actionIndex"]): row for row in answer["fallbacks"]}
    return turns, fallbacks


def test_the_bench_reads_back_as_it_was(played: Any) -> None:
    found, turns, fallbacks = played
    assert (len(found), len(turns), len(fallbacks)) == (109, 101, 8)
    assert set(fallbacks) == {key for key, each in found.items() if each.is_forced}
    for key, turn in turns.items():
        said = found[key].said["llm_responses"]
        assert turn["prompt"] == "\n".join(found[key].prompt)
        assert turn["promptStatus"] == "verified"
        assert (turn["response"], turn["reasoning"]) == (said[-1]["content"], said[-1]["reasoning_content"])
        attempts = [(each["response"], each["reasoning"]) for each in turn["attempts"][:-1]]
        assert attempts == [(each["content"], each["reasoning_content"]) for each in said[:-1]]


def test_empty_content_beside_reasoning_is_not_no_answer(played: Any) -> None:
    _, turns, _ = played
    silent = [turn for turn in turns.values() if turn["response"] == "" and turn["reasoning"]]
    assert silent
    assert all(turn["response"] is not None for turn in turns.values())


def test_the_forced_folds_are_fallback_charges_with_every_attempt_counted(played: Any) -> None:
    _, _, fallbacks = played
    assert {row["attempts"] for row in fallbacks.values()} == {4}
    assert {row["action"] for row in fallbacks.values()} == {"fold"}


def test_the_seventeen_mismatches_with_the_tables_book_are_found(played: Any) -> None:
    found, turns, fallbacks = played
    other = {key for key, row in (turns | fallbacks).items() if row["action"] != found[key].booked["action"]}
    amounts = {
        key
        for key, row in (turns | fallbacks).items()
        if row["amount"] is not None and row["amount"] != found[key].booked["amount"]
    }
    assert len(other | amounts) == 17
    assert len(other & set(fallbacks)) == 1
