"""An owner's read never touches a rival's keys: shown by what the stores were asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from capture.hands import get_hand_turns
from capture.pins.pin import promote
from capture_sdk.keys import agents_key, hand_key, turn_key
from tests.build import HAND, TABLE, play, seat

pytestmark = pytest.mark.django_db

RIVALS = ["rival", "river-rat:1", "river-rat%3A1", "river", "river-rat2"]


@contextmanager
def asked(buffer: Any) -> Iterator[list[str]]:
    """Every key that the server was asked for meanwhile, as the server itself reports it."""
    keys: list[str] = []
    with buffer.monitor() as monitor:
        yield keys
        buffer.echo("the end")
        for command in monitor.listen():
            if "the end" in command["command"]:
                return
            keys.extend(word for word in command["command"].split() if ":" in word)


@pytest.mark.parametrize("read", ["get_hand_turns", "promote"])
def test_only_the_agents_own_keys_are_asked_for(buffer: Any, read: str) -> None:
    for agent in ["river-rat", *RIVALS]:
        play(seat(agent), 1)
    with asked(buffer) as keys:
        if read == "promote":
            promote(TABLE, HAND, agent_id="river-rat", by="test")
        else:
            get_hand_turns(TABLE, HAND, agent_id="river-rat")
    own = {hand_key(TABLE, HAND, "river-rat"), turn_key(TABLE, HAND, "river-rat", 1)}
    shared = {key for key in keys if key.startswith(("env:", "dict:"))}
    assert set(keys) - shared == own
    # Its own envelope and its own dictionary: one of each, of the four agents' four dictionaries.
    assert sorted(key.partition(":")[0] for key in shared) == ["dict", "env"]
    assert len(buffer.keys("dict:*")) == 1 + len(RIVALS)


@pytest.mark.parametrize("agent", ["river-rat", *RIVALS])
def test_however_an_id_is_spelled_it_reads_its_own_turn(buffer: Any, agent: str) -> None:
    for each in ["river-rat", *RIVALS]:
        play(seat(each), 1, response=each)
    (turn,) = get_hand_turns(TABLE, HAND, agent_id=agent).turns
    assert turn.record is not None
    assert turn.record.response == agent


def test_the_operators_set_gates_nothing_of_the_owners(buffer: Any) -> None:
    play(seat(), 1)
    buffer.delete(agents_key(TABLE, HAND))
    assert len(get_hand_turns(TABLE, HAND, agent_id="river-rat").turns) == 1


def test_postgres_is_asked_for_one_agent_too(buffer: Any) -> None:
    for agent in ["river-rat", "rival"]:
        play(seat(agent), 1)
        promote(TABLE, HAND, agent_id=agent, by="test")
    with CaptureQueriesContext(connection) as queries:
        get_hand_turns(TABLE, HAND, agent_id="river-rat")
    assert len(queries) == 4
    for query in queries:
        assert "\"agent_id\" = 'river-rat'" in query["sql"]


def test_a_record_that_says_it_belongs_elsewhere_is_not_shown_here(buffer: Any) -> None:
    play(seat("rival"), 1)
    stolen = buffer.get(turn_key(TABLE, HAND, "rival", 1))
    play(seat(), 1)
    buffer.set(turn_key(TABLE, HAND, "river-rat", 1), stolen, ex=100)
    (turn,) = get_hand_turns(TABLE, HAND, agent_id="river-rat").turns
    assert turn.record is None
    assert turn.prompt_unavailable == "record_unreadable"
