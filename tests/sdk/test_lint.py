"""The outbound lint finds what goes round the outbox and leaves alone what does not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from capture_sdk.lint import check, main

FOUND = {
    "a socket's sendall": "sock.sendall(b'x')",
    "whatever has a sendall": "self.peer.sendall(b'x')",
    "a datagram": "peer.sendto(b'x', address)",
    "aiohttp": "await self.ws.send_str(text)",
    "aiohttp, by name": "await conn.send_json(message)",
    "starlette": "await websocket.send_text(text)",
    "websockets": "await ws.send(message)",
    "websockets, as a context": """async def f():
        async with websockets.connect(u) as table:
            await table.send(m)""",
    "a connection made here": "import socket\ntable = socket.create_connection(a)\ntable.send(b'x')",
    "a renamed import": "import socket as s\npeer = s.socket()\npeer.send(b'x')",
    "a chained making": "create_connection(a).send(b'x')",
    "an attribute of self": """class A:
        def f(self):
            self.table = socket.socket()
            self.table.send(b'x')""",
    "an annotated argument": "def f(table: WebSocket): table.send(m)",
    "a stream writer": "async def f():\n r, w = await asyncio.open_connection(h, p)\n w.write(b'x')",
    "a writer, by name": "writer.writelines(lines)",
    "an asyncio transport": "self.transport.write(b'x')",
    "a file made of a socket": "out = sock.makefile('w')\nout.write('x')",
    "the method handed on": "send = sock.sendall",
    "the method handed on to a pool": "pool.submit(connection.send, message)",
    "functools.partial": "functools.partial(sock.sendall, b'x')",
    "getattr": "getattr(sock, 'send')(b'x')",
    "the file descriptor": "os.write(sock.fileno(), b'x')",
    "past the door": "outbox = Outbox(sock.sendall)\nsock.sendall(b'x')",
}
LEFT = {
    "the outbox": "outbox.send(message)",
    "the outbox of a seat": "await self.outbox.send(message)",
    "a door by another name": "door = Outbox(sock.sendall)\ndoor.send(m)",
    "an annotated door": "def f(door: AsyncOutbox[dict, None]): door.send(m)",
    "the making of a door": "Outbox(sock.sendall)",
    "the making of an async door": "AsyncOutbox(websocket.send)",
    "a generator": "generator.send(None)",
    "an HTTP client": "client = httpx.Client()\nclient.send(request)\nclient.post(url, json=body)",
    "a file": "with open(p, 'w') as out:\n out.write('x')",
    "standard output": "sys.stdout.write('x')",
    "a signal": "post_save.send(sender=Model)",
    "a mail": "EmailMessage('hi').send()",
    "a database": "c = psycopg.connect(url)\nc.send(1)",
    "a definition": "class Door:\n def send(self, m): ...",
    "a string and a comment": "x = 'sock.sendall(b)'  # sock.sendall(b)",
    "a pipe by no telling name": "left.send(1)",
}


def codes(source: str) -> list[str]:
    return [finding.code for finding in check(source)]


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_a_send_around_the_outbox_is_found_once(source: str) -> None:
    assert codes(source) == ["OUT001"]


@pytest.mark.parametrize("source", LEFT.values(), ids=LEFT)
def test_everything_else_is_left(source: str) -> None:
    assert codes(source) == []


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


def test_a_string_that_looks_like_an_allowance_is_none() -> None:
    assert codes("x = '# outbox: allowed because no'\nsock.sendall(x)") == ["OUT001"]


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
