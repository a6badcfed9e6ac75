"""The outbound lint: allowances, places, exit statuses, and what it walks."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from capture_sdk.lint import check, main


def codes(source: str) -> list[str]:
    return [finding.code for finding in check(source)]


@pytest.mark.parametrize(
    "source",
    [
        "sock.sendall(b'x')  # outbox: allowed because it is a heartbeat",
        "# outbox: allowed because it is a heartbeat\nsock.sendall(b'x')",
        "sock.sendall(\n  b'x',\n)  # outbox: allowed because it is a heartbeat",
    ],
    ids=["same line", "line above", "last line"],
)
def test_an_allowance_with_a_reason_allows(source: str) -> None:
    assert codes(source) == []


def test_an_allowance_without_a_reason_is_a_finding_and_allows_nothing() -> None:
    assert codes("sock.sendall(b'x')  # outbox: allowed because") == ["OUT001", "OUT002"]


def test_an_allowance_that_allows_nothing_is_a_finding() -> None:
    assert codes("x = 1  # outbox: allowed because of old times") == ["OUT003"]


def test_an_allowance_over_the_private_send_that_an_outbox_wraps_is_in_order() -> None:
    source = """
class Seat:
    def __init__(self): self.outbox = Outbox(self._write)
    def _write(self, m):
        # outbox: allowed because this is the real send that the outbox wraps
        self._socket.sendall(m)"""
    assert codes(source) == []


def test_an_allowance_at_the_making_of_an_outbox_is_a_finding() -> None:
    assert codes("Outbox(ws.send)  # outbox: allowed because it is wrapped") == ["OUT003"]


def test_a_string_that_looks_like_an_allowance_is_none() -> None:
    assert codes("x = '# outbox: allowed because no'\nsock.sendall(x)") == ["OUT001"]


def test_a_long_generated_sum_is_read() -> None:
    assert codes("x = " + " + ".join(["a"] * 900) + "\nsock.sendall(x)") == ["OUT001"]


def test_names_that_grow_out_of_themselves_are_read() -> None:
    lines = [f"x = x.a{number}" for number in range(30)]
    assert codes("\n".join(["import os", "x = os", *lines, "sock.sendall(x)"])) == ["OUT001"]


def test_a_finding_names_place_call_and_remedy() -> None:
    (finding,) = check("\n  \nsock.sendall(b'x')", "agent.py")
    assert str(finding).startswith("agent.py:3:1: OUT001 sock.sendall is called outside of the outbox")


def test_exit_statuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clean.py").write_text("x = 1\n")
    assert main([str(tmp_path)]) == 0
    (tmp_path / "dirty.py").write_text("sock.sendall(b'x')\n")
    assert main([str(tmp_path)]) == 1
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "latin.py").write_bytes(b"x = '\xff'\n")
    assert main([str(tmp_path)]) == 2
    assert main([str(tmp_path / "nowhere.py")]) == 2
    said = capsys.readouterr()
    assert "broken.py:1" in said.err
    assert "latin.py" in said.err
    assert said.out.count("OUT001") == 2


def test_hidden_and_installed_folders_are_not_walked(tmp_path: Path) -> None:
    for folder in (".venv/lib", "node_modules/x"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "dirty.py").write_text("sock.sendall(b'x')\n")
    assert main([str(tmp_path)]) == 0


def test_a_planted_send_in_the_example_fails_the_command(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    agent = tmp_path / "agent"
    shutil.copytree(root / "examples" / "poker" / "agent", agent)
    command = [sys.executable, "-m", "capture_sdk.lint", str(agent)]
    assert subprocess.run(command, cwd=root, check=False).returncode == 0
    seat = agent / "seat.py"
    seat.write_text(seat.read_text() + "\n\ndef cheat(seat):\n    seat._connection.sendall(b'{}')\n")
    assert subprocess.run(command, cwd=root, check=False, capture_output=True).returncode == 1
