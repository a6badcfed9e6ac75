"""A kept hand leaves as a file and comes back byte for byte."""

from pathlib import Path
from typing import Any

import pytest

from capture.hands import get_hand_all
from capture.ledger import record_charges
from capture.limits import MIB
from capture.models import AgentCallRecord, AgentHand
from tests.build import HAND, TABLE, play, seat
from tests.server.exchanging import export, keep, keep_a_hand, stored, take, wipe

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept(buffer: Any) -> None:
    """See ``keep_a_hand``."""
    keep_a_hand(buffer)


@pytest.mark.usefixtures("kept")
def test_a_hand_comes_back_byte_for_byte(tmp_path: Path) -> None:
    before = stored()
    export(tmp_path)
    wipe()
    answer = take(tmp_path)
    assert stored() == before
    first = (tmp_path / "hand.zip").read_bytes()
    export(tmp_path)
    assert (tmp_path / "hand.zip").read_bytes() != first  # it says who imported it
    wipe()
    assert take(tmp_path)["turns"]["inserted"] == 3
    assert stored() == before
    assert (answer["turns"], answer["prompts"]["verified"]) == ({"inserted": 3, "present": 0}, 3)
    assert AgentHand.objects.get().fallbacks == 1


@pytest.mark.usefixtures("kept")
def test_an_export_tells_what_the_file_holds(tmp_path: Path) -> None:
    where = {"tableId": TABLE, "handNumber": HAND, "file": str(tmp_path / "hand.zip"), "agents": ["a", "b"]}
    holds = {"turns": 3, "envelopes": 3, "charges": 4, "missing": [], "inBuffer": []}
    assert export(tmp_path) == where | holds


@pytest.mark.parametrize("text", ["nul\x00", "half \ud83d", "\u202e\x1b[2J", "♠🂡" * 1000, "{}", ""])
def test_whatever_python_can_hold_comes_back(buffer: Any, tmp_path: Path, text: str) -> None:
    knowledge = {"note": text, "set": {1, 2}}
    play(seat(), 1, envelope=text, remainder=text, response=text, reasoning=text, knowledge=knowledge)
    keep("river-rat")
    buffer.flushall()
    before, view = stored(), get_hand_all(TABLE, HAND).turns
    export(tmp_path)
    wipe()
    take(tmp_path)
    assert stored() == before
    assert get_hand_all(TABLE, HAND).turns == view


def test_bytes_that_are_not_text_come_back(buffer: Any, tmp_path: Path) -> None:
    play(seat(), 1, envelope=b"\xff\xfe", remainder=b"\x00\x80", response=b"\xc3\x28")
    keep("river-rat")
    before = stored()
    export(tmp_path)
    wipe()
    assert take(tmp_path)["prompts"]["verified"] == 1
    assert stored() == before


def test_a_prompt_of_ten_megabytes_comes_back(buffer: Any, tmp_path: Path) -> None:
    play(seat(), 1, envelope="♠" * MIB, remainder="x" * (7 * MIB))
    keep("river-rat")
    before = stored()
    export(tmp_path)
    wipe()
    assert take(tmp_path)["prompts"]["verified"] == 1
    assert stored() == before


@pytest.mark.parametrize("name", ["a:b%c/d", "../../etc", "🂡 ♠", "\x1b[2J", "a" * 200])
def test_ids_are_data_and_never_paths(buffer: Any, tmp_path: Path, name: str) -> None:
    play(seat(name, table_id=name), 1)
    keep(name, table=name)
    before = stored(name)
    export(tmp_path, table=name)
    wipe()
    assert take(tmp_path)["agents"] == [name]
    assert stored(name) == before


def test_a_charge_comes_back_equal(buffer: Any, tmp_path: Path) -> None:
    at = seat()
    turn = at.play(1)
    odd = {"amount": 2**80, "usage": b"\x81\xa1x\xc4\x01\xff", "input_tokens": 10**12, "model": "m♠"}
    record_charges(
        [turn.charge(**odd), at.play(2).charge(amount=float("nan")), at.play(3).charge(amount="all")]
    )
    keep("river-rat")
    before = stored()
    export(tmp_path)
    wipe()
    take(tmp_path)
    assert stored() == before
    assert take(tmp_path)["charges"] == {"inserted": 0, "present": 3}


@pytest.mark.usefixtures("kept")
def test_the_same_content_is_the_same_file(tmp_path: Path) -> None:
    export(tmp_path)
    first = (tmp_path / "hand.zip").read_bytes()
    wanted = list(AgentCallRecord.objects.order_by("-id"))
    AgentCallRecord.objects.all().delete()
    for row in wanted:  # another installation's rows have other ids, in another order
        row.pk = None
        row.save()
    export(tmp_path)
    assert (tmp_path / "hand.zip").read_bytes() == first
    assert list(tmp_path.iterdir()) == [tmp_path / "hand.zip"]


@pytest.mark.usefixtures("kept")
def test_a_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    export(tmp_path)
    assert (tmp_path / "hand.zip").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("kept")
def test_one_agents_part_holds_nothing_of_its_rivals(tmp_path: Path) -> None:
    assert export(tmp_path, "--agent", "b")["agents"] == ["b"]
    wipe()
    take(tmp_path)
    records, envelopes, charges = stored()
    names = {agent for agent, _ in (*records, *envelopes)} | {charge.key.agent_id for charge in charges}
    assert (names, len(charges)) == ({"b"}, 2)
