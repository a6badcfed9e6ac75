"""The demo as its user plays it: real hands, agents in processes of their own, read back by the API."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.site_process import ROOT, Finished, forget, manage, run

FIELDS = ["hands", "turns", "fallbacks", "clamped", "envelopes", "turnsPerEnvelope", "verified", "mismatched"]
FIELDS += ["missing", "rawBytes", "storedBytes", "pinnedHand", "seconds"]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A stack of its own for the commands, new and with its tables made."""
    folder = tmp_path_factory.mktemp("stack")
    environment = {"CAPTURE_EMBEDDED": "1", "CAPTURE_EMBEDDED_DIR": str(folder)}
    assert manage("migrate", "--verbosity", "0", environment=environment).returncode == 0
    yield environment
    forget(folder)


@pytest.fixture(scope="module")
def played(stack: dict[str, str]) -> Finished:
    return manage("demo", "--hands", "14", "--tables", "2", "--no-serve", "--json", environment=stack)


def figures(finished: Finished) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(finished.stdout.strip().splitlines()[-1])
    return found


def ask(stack: dict[str, str], program: str) -> Any:
    """Run a program inside of the site and give back the JSON that it prints."""
    environment = stack | {"DJANGO_SETTINGS_MODULE": "capture_site.settings"}
    finished = run("-c", f"import json, django\ndjango.setup()\n{program}", environment=environment)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_it_ends_with_every_turn_verified(played: Finished) -> None:
    assert played.returncode == 0, played.stderr
    result = figures(played)
    assert list(result) == FIELDS
    assert result["hands"] == 14
    assert result["turns"] == result["verified"] > 14 * 8
    assert (result["mismatched"], result["missing"], result["envelopes"]) == (0, 0, 7)
    assert result["fallbacks"] > 0
    assert result["storedBytes"] < result["rawBytes"] / 4


def test_the_remainders_have_the_size_of_real_ones(played: Finished, stack: dict[str, str]) -> None:
    sizes = ask(
        stack,
        "from capture.buffer import Buffer\nfrom capture.models import AgentHand\n"
        "hand = AgentHand.objects.order_by('-hand_number').first()\n"
        "turns = [turn for agent in hand.agents"
        " for turn in Buffer.connect().turns(hand.table_id, hand.hand_number, agent_id=agent)]\n"
        "print(json.dumps([len(turn.record.prompt.remainder) for turn in turns]))",
    )
    assert sizes
    assert all(2_048 <= size <= 8_192 for size in sizes), sizes


def test_an_agent_that_came_back_knows_less_than_the_others(played: Finished, stack: dict[str, str]) -> None:
    logs = ask(
        stack,
        "from capture.hands import get_hand_all\nfrom capture.models import AgentHand\n"
        "from capture_sdk.freeze import unpack\n"
        "hand = AgentHand.objects.get(table_id__endswith='-1', hand_number=2)\n"
        "turns = get_hand_all(hand.table_id, hand.hand_number).turns\n"
        "print(json.dumps([[turn.key.action_index, len(unpack(turn.record.knowledge)['action_log'])]"
        " for turn in turns]))",
    )
    assert any(seen < index for index, seen in logs), "nobody lost a connection"
    assert any(seen == index for index, seen in logs if index > 5), "everybody lost one"


def test_no_token_reaches_a_store(played: Finished, stack: dict[str, str]) -> None:
    found = ask(
        stack,
        "from capture.hands import get_hand_all\nfrom capture.models import AgentHand\n"
        "from capture_sdk.freeze import unpack\n"
        "names, messages = set(), 0\n"
        "for hand in AgentHand.objects.all():\n"
        "    for turn in get_hand_all(hand.table_id, hand.hand_number).turns:\n"
        "        messages += len(turn.record.messages)\n"
        "        names |= {message['type'] for message in turn.record.messages}\n"
        "print(json.dumps([sorted(names), messages]))",
    )
    assert found[0] == ["action"]  # enter, sit, post_blind, stand and usage_report passed outside of turns


def test_a_hand_was_kept(played: Finished, stack: dict[str, str]) -> None:
    table, _, number = figures(played)["pinnedHand"].rpartition(":")
    state = ask(
        stack,
        "from capture.hands import get_hand_all\n"
        f"print(json.dumps(get_hand_all({table!r}, {number}).standing.state))",
    )
    assert state == "pinned"


def test_the_same_seed_plays_the_same_hands(played: Finished, stack: dict[str, str]) -> None:
    again = manage("demo", "--hands", "2", "--tables", "2", "--no-serve", "--json", environment=stack)
    other = manage("demo", "--hands", "2", "--tables", "2", "--no-serve", "--json", environment=stack)
    assert figures(again)["turns"] == figures(other)["turns"]


def test_any_openai_compatible_endpoint_will_do(stack: dict[str, str]) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "examples.poker.policy_server"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        options = [
            "--hands",
            "2",
            "--tables",
            "1",
            "--no-serve",
            "--json",
            "--base-url",
            url,
            "--model",
            "other",
        ]
        finished = manage("demo", *options, environment=stack | {"OPENAI_API_KEY": "none"})
        server.terminate()
    result = figures(finished)
    assert result["verified"] == result["turns"] > 0


def test_a_port_that_is_taken_is_one_sentence(stack: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finished = manage("demo", "--port", str(port), environment=stack)
    assert finished.returncode == 1
    assert f"port {port} cannot be used" in finished.stderr
    assert "--port" in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize(
    "options", [["--hands", "0"], ["--tables", "0"], ["--base-url", "ftp://x"], ["--port", "99999"]]
)
def test_an_option_that_cannot_be_is_one_sentence(stack: dict[str, str], options: list[str]) -> None:
    finished = manage("demo", *options, environment=stack)
    assert finished.returncode == 1
    assert options[0] in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_end_and_leaves_nothing_running(
    stack: dict[str, str], number: signal.Signals
) -> None:
    plain = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo", "--hands", "2", "--port", "0"],
        cwd=ROOT,
        env=plain | stack,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    address = next(line.split()[0] for line in process.stderr if "password" in line)
    assert httpx.get(address, follow_redirects=True).status_code == 200
    time.sleep(1)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert not [
        pid for pid in Path("/proc").iterdir() if pid.name.isdigit() and is_of_session(pid, process.pid)
    ]


def is_of_session(pid: Path, session: int) -> bool:
    try:
        return int((pid / "stat").read_text().rpartition(")")[2].split()[3]) == session
    except (FileNotFoundError, ProcessLookupError):
        return False
