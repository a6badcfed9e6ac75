"""The split changes nothing: the model gets the same bytes with capture on, with it off, and as ever."""

import contextlib
import hashlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from capture_sdk import Client, MemoryTransport
from examples.poker.agent.model import Model
from examples.poker.agent.profiles import PROFILES
from examples.poker.agent.seat import Seat
from tests.site_process import ROOT

GOLDEN = Path(__file__).parents[1] / "golden" / "prompt.txt"
TOKEN = "tok-0123456789abcdef"
FRAMES: list[dict[str, Any]] = [
    {
        "type": "hand_result",
        "handNumber": 6,
        "board": ["2c", "3d", "Ks"],
        "net": {"maniac": 12, "river-rat": -12},
    },
    {
        "type": "game_state",
        "handNumber": 7,
        "street": "flop",
        "pot": 14,
        "board": ["Ks", "7d", "2c"],
        "cards": ["Kh", "Qh"],
        "players": [
            {"agentId": "river-rat", "role": "button", "stack": 180, "bet": 0, "hasFolded": False},
            {"agentId": "maniac", "role": "big blind", "stack": 206, "bet": 6, "hasFolded": False},
            {"agentId": "Zoë ♠", "role": None, "stack": 200, "bet": 0, "hasFolded": True},
        ],
    },
    {"type": "player_action", "agentId": "maniac", "action": "raise", "amount": 6, "street": "flop"},
]
YOUR_TURN = {
    "type": "your_turn",
    "handNumber": 7,
    "actionIndex": 9,
    "legal": ["fold", "call", "raise"],
    "toCall": 6,
    "minRaise": 12,
    "maxRaise": 180,
    "deadlineMs": 20_000,
}


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    """The scripted policy in a process of its own, which keeps a hash of what it receives."""
    process = subprocess.Popen(
        [sys.executable, "-m", "examples.poker.policy_server", "1"], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    process.terminate()
    process.wait()
    process.stdout.close()


def take_the_turn(client: Client, model_url: str, table: str, sent_log: Path) -> str:
    """Take the turn that the golden file is of; return the hash of what the model's server received."""
    model = Model(url=f"{model_url}/v1/", name="scripted-policy", key="none", timeout=5, sent_log=sent_log)
    seat = Seat(PROFILES["river-rat"], table, token=TOKEN, client=client, model=model)
    for frame in FRAMES:
        seat.memory.take_in(frame)
    ours, theirs = socket.socketpair()
    with ours, theirs, contextlib.closing(model):
        seat._connection = ours
        seat.take_turn(YOUR_TURN)
    received = httpx.get(f"{model_url}/received").json()
    return str(received[f"{table}:7:9"][-1])


@pytest.mark.parametrize("capture", ["on", "off"])
def test_the_model_receives_the_golden_bytes(model_url: str, tmp_path: Path, capture: str) -> None:
    client = Client(transport=MemoryTransport()) if capture == "on" else Client.off()
    received = take_the_turn(client, model_url, f"golden-{capture}", tmp_path / "sent")
    assert received == hashlib.sha256(GOLDEN.read_bytes()).hexdigest()


def test_the_record_gives_the_golden_bytes_back(model_url: str, tmp_path: Path) -> None:
    transport = MemoryTransport()
    client = Client(transport=transport)
    take_the_turn(client, model_url, "golden-record", tmp_path / "sent")
    client.flush()
    (record,) = transport.records()
    assert record.prompt is not None
    assert record.prompt.whole() == GOLDEN.read_bytes()
    assert record.prompt.envelope == PROFILES["river-rat"].envelope.encode()


def test_the_envelopes_have_the_size_of_real_ones() -> None:
    sizes = {name: len(profile.envelope.encode()) for name, profile in PROFILES.items()}
    assert len({profile.envelope for profile in PROFILES.values()}) == 7
    assert all(8_192 <= size <= 16_384 for size in sizes.values()), sizes


def test_an_agents_process_knows_no_server() -> None:
    program = (
        "import sys, examples.poker.agent.__main__\n"
        "servers = ('django', 'pokerkit', 'psycopg', 'capture')\n"
        "print([name for name in sys.modules if name.split('.')[0] in servers])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
