"""A prompt in one piece is split where the agent's prompts stop being equal, and always rejoins to itself."""

import hashlib
import json
from typing import Any

import pytest

from capture_sdk.prompt import PromptStatus
from capture_sdk.splitting import Splitter, split_at
from tests.build import Seat, memory_client
from tests.data import needs

RULES = "".join(f"Rule {number}: play tight in position {number % 6}.\n" for number in range(60))


def offsets(*prompts: str, agent: str = "a", splitter: Splitter | None = None) -> list[int]:
    splitter = splitter or Splitter()
    return [splitter.split(agent, prompt.encode()) for prompt in prompts]


def test_the_first_prompt_is_kept_whole_and_the_second_shows_the_envelope() -> None:
    assert offsets(RULES + "pot 1", RULES + "pot 22") == [0, len(RULES)]


def test_the_envelope_ends_at_a_line_so_that_like_numbers_do_not_move_it() -> None:
    found = offsets(RULES + "pot 100", RULES + "pot 105", RULES + "pot 2")
    assert found == [0, len(RULES), len(RULES)]


def test_an_agent_that_changes_between_skills_keeps_an_envelope_for_each() -> None:
    one, two = RULES, RULES.replace("tight", "loose")
    found = offsets(one + "a", one + "b", two + "c", two + "d", one + "e", two + "f")
    assert found == [0, len(one), 0, len(two), len(one), len(two)]


def test_a_short_or_foreign_beginning_is_no_envelope() -> None:
    assert offsets("You are x. a", "You are x. b", "Something else " * 40) == [0, 0, 0]


def test_an_envelope_learnt_too_short_grows() -> None:
    first, second = "A" * 300 + "\n", "A" * 300 + "\n" + RULES
    found = offsets(first + "x", first + "y", *(second + str(number) for number in range(8)))
    assert found[1] == 301
    assert found[-1] > len(RULES)


def test_agents_do_not_share_their_habits() -> None:
    splitter = Splitter()
    assert offsets(RULES + "1", agent="a", splitter=splitter) == [0]
    assert offsets(RULES + "2", agent="b", splitter=splitter) == [0]


@pytest.mark.parametrize("offset", range(12))
def test_any_split_rejoins_to_the_same_bytes(offset: int) -> None:
    prompt = "♠ \ud83d\x00\r\n".encode("utf-8", "surrogatepass")
    sealed = split_at(prompt, offset, is_text=True)
    assert sealed.whole() == prompt
    assert sealed.sha256 == hashlib.sha256(prompt).hexdigest()
    assert sealed.status() is PromptStatus.VERIFIED


def told(*prompts: Any) -> list[Any]:
    client, transport = memory_client()
    at = Seat(client)
    for index, prompt in enumerate(prompts):
        with at.turn(index) as turn:
            turn.prompt(prompt)
            turn.response("ok")
    assert client.flush(5)
    return [record.prompt for record in transport.records()]


def test_turns_with_one_string_share_their_envelope() -> None:
    prompts = [RULES + f"♣ pot {number}" for number in range(5)]
    sealed = told(*prompts)
    assert [each.text() for each in sealed] == prompts
    assert len({each.env_hash for each in sealed[1:]}) == 1
    assert all(each.status() is PromptStatus.VERIFIED for each in sealed)


def test_chat_messages_are_one_text_and_share_their_beginning() -> None:
    conversations = [
        [{"role": "system", "content": RULES}, {"role": "user", "content": f"pot {number} ♦ \ud83d"}]
        for number in range(4)
    ]
    sealed = told(*conversations)
    assert [json.loads(each.text()) for each in sealed] == conversations
    assert all(each.is_messages for each in sealed)
    assert len({each.env_hash for each in sealed[1:]}) == 1


def test_messages_are_copied_at_the_call() -> None:
    client, transport = memory_client()
    messages = [{"role": "user", "content": "pot 1"}]
    with Seat(client).turn(1) as turn:
        turn.prompt(messages)
        messages[0]["content"] = "changed"
        turn.response("ok")
    client.flush(5)
    assert json.loads(transport.records()[0].prompt.text()) == [{"role": "user", "content": "pot 1"}]  # type: ignore[union-attr, arg-type]


@pytest.mark.parametrize("prompt", ["", b"", b"\xff\xfe" * 300, "half \ud83d" * 100, "nul\x00" * 200])
def test_any_text_or_bytes_comes_back_as_it_was(prompt: Any) -> None:
    assert [each.text() for each in told(prompt, prompt, prompt)] == [prompt] * 3


def test_an_envelope_alone_is_said_with_an_empty_remainder() -> None:
    client, transport = memory_client()
    with Seat(client).turn(1) as turn:
        turn.prompt("envelope", "")
        turn.response("ok")
    client.flush(5)
    (record,) = transport.records()
    assert record.prompt is not None
    assert (record.prompt.envelope, record.prompt.remainder) == (b"envelope", b"")


def test_the_recorded_conversations_of_real_agents_split_well_and_rejoin() -> None:
    folder = needs("02-poker-llm") / "live-poker-bench"
    splitter, whole, remainders = Splitter(), 0, 0
    for path in sorted(folder.glob("*/agents/*.json")):
        for agent, decisions in by_agent(json.loads(path.read_text())).items():
            for messages in decisions:
                prompt = json.dumps(messages, ensure_ascii=False).encode()
                sealed = split_at(prompt, splitter.split(agent, prompt), is_text=True)
                assert sealed.status() is PromptStatus.VERIFIED
                whole += len(prompt)
                remainders += len(sealed.remainder)
    assert whole > 100_000
    assert remainders < 0.6 * whole


def by_agent(content: Any) -> dict[str, list[Any]]:
    """Every conversation in a file, by the seat that had it."""
    found: dict[str, list[Any]] = {}

    def walk(node: Any, seat: str) -> None:
        if isinstance(node, dict):
            seat = str(node.get("seat", node.get("player", seat)))
            if "conversation" in node:
                found.setdefault(seat, []).append(node["conversation"])
            for key, value in node.items():
                walk(value, seat if seat else str(key))
        elif isinstance(node, list):
            for item in node:
                walk(item, seat)

    walk(content, "")
    return found
