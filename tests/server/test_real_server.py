"""Bodies as they come over a real connection, to the server that production has."""

import gzip
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from capture_sdk.codec import compress
from capture_site.embedded import attach
from tests.served import free_port
from tests.site_process import ROOT

BODY = json.dumps({"turns": []}).encode()
PATH = "/internal/agent-capture/turns"


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """A gunicorn of our application on a port of its own."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "capture_site.wsgi:application",
        "--bind",
        f"127.0.0.1:{port}",
    ]
    with subprocess.Popen([*command, "--threads", "4", "--log-level", "error"], cwd=ROOT) as process:
        try:
            _wait(port)
            yield "127.0.0.1", port
        finally:
            process.terminate()


def _wait(port: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server did not start")


def key() -> str:
    return attach(ROOT / os.environ["CAPTURE_EMBEDDED_DIR"]).service_key


def send(address: tuple[str, int], body: Any, **headers: str) -> tuple[int, Any]:
    connection = HTTPConnection(*address, timeout=20)
    try:
        head = {"X-Service-Key": key(), "Host": "localhost"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        connection.request("POST", PATH, body, head, encode_chunked="Transfer-Encoding" in head)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_chunked_body_arrives_whole(address: tuple[str, int], size: int) -> None:
    pieces = [BODY[start : start + size] for start in range(0, len(BODY), size)]
    assert send(address, iter(pieces), Transfer_Encoding="chunked") == (200, {"results": []})


@pytest.mark.parametrize(("encoding", "press"), [("gzip", gzip.compress), ("zstd", compress)])
def test_a_compressed_body_arrives_whole(address: tuple[str, int], encoding: str, press: Any) -> None:
    assert send(address, press(BODY), Content_Encoding=encoding) == (200, {"results": []})
    pieces = iter([press(BODY)])
    assert send(address, pieces, Content_Encoding=encoding, Transfer_Encoding="chunked") == (
        200,
        {"results": []},
    )


def test_a_body_beyond_the_limit_is_413_while_it_is_still_coming(address: tuple[str, int]) -> None:
    pieces = (b" " * 1024 * 1024 for _ in range(65))
    status, answer = send(address, pieces, Transfer_Encoding="chunked")
    assert (status, answer["error"]["code"]) == (413, "too_large")
    assert "67108864" in answer["error"]["message"]


def test_a_body_that_ends_too_early_is_no_500(address: tuple[str, int]) -> None:
    with socket.create_connection(address, 20) as raw:
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key()}\r\nContent-Length: 999\r\n\r\n"
        raw.sendall(head.encode() + b"{")
        raw.shutdown(socket.SHUT_WR)
        said = raw.recv(65_536).decode()
    assert said.startswith("HTTP/1.1 400")
