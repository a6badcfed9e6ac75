"""The HTTP transport and ledger against a real server on loopback that answers as scripted."""

import gzip
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from capture_sdk import Client, Config, ConfigError, LedgerError, MemoryTransport
from capture_sdk.codec import decode
from capture_sdk.wire import charge_from_json, unbase64
from tests.build import Seat, opened, take

KEY = "ingest-key-hunter2-0123456789"
FAST: dict[str, Any] = {"linger_seconds": 0.001, "backoff_seconds": 0.001, "backoff_limit_seconds": 0.002}


class Server:
    """Answers each request with the next scripted answer, then as a capture server that takes everything."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.script: list[tuple[int, dict[str, str], Any]] = []
        self.envelopes: set[str] = set()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                payload = json.loads(gzip.decompress(body))
                owner.requests.append((self.path, dict(self.headers), payload))
                status, headers, answer = (
                    owner.script.pop(0) if owner.script else (200, {}, owner.take(payload))
                )
                content = json.dumps(answer).encode() if not isinstance(answer, bytes) else answer
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/sub/path"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, payload: Any) -> Any:
        return {"results": [self._one(item) for item in payload.get("turns") or payload.get("charges")]}

    def _one(self, item: Any) -> Any:
        wanted = item.get("envHash")
        if "envelope" in item:
            self.envelopes.add(wanted)
        needed = wanted is not None and wanted not in self.envelopes
        return {"status": "envelope_needed" if needed else "written"}

    def items(self) -> list[Any]:
        return [item for _, _, payload in self.requests for item in payload.get("turns", [])]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


def client(server: Server, **options: Any) -> Client:
    return opened(**{"base_url": server.url, "service_key": KEY, **FAST, **options})


def test_turns_arrive_whole_and_an_envelope_goes_once_and_only_when_asked_for(server: Server) -> None:
    at = Seat(client(server))
    for index in range(3):
        at.play(index, response="half \ud83d \x00 ♠")
    first, again, second, third = server.items()
    assert "envelope" not in first
    assert "envelope" in again
    assert "envelope" not in second
    records = [decode(unbase64("record", item["record"])) for item in (again, second, third)]
    assert [record.response for record in records] == ["half \ud83d \x00 ♠"] * 3
    assert unbase64("envelope", again["envelope"]) == b"You are a careful poker player.\n" * 20


def test_requests_carry_the_key_an_id_and_a_gzip_body_to_the_base_urls_path(server: Server) -> None:
    Seat(client(server)).play(1)
    path, headers, _ = server.requests[0]
    assert path == "/sub/path/internal/agent-capture/turns"
    assert headers["X-Service-Key"] == KEY
    assert headers["Content-Encoding"] == "gzip"
    assert len(headers["X-Request-Id"]) == 32


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_busy_or_failing_server_is_asked_again(server: Server, status: int) -> None:
    server.script = [(status, {}, {}), (status, {}, {})]
    at = Seat(client(server))
    at.play(1)
    assert at.client.stats().retried == 2


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 415])
def test_a_final_refusal_is_counted_at_once_and_no_redirect_is_followed(server: Server, status: int) -> None:
    server.script = [(status, {"Location": "http://127.0.0.1:1/"}, {})]
    at = Seat(client(server))
    with at.turn(1) as turn:
        turn.response("ok")
    assert at.client.flush(5).lost == {f"http_{status}": 1}
    assert len(server.requests) == 1


def test_a_servers_wait_is_honoured_within_a_bound(server: Server) -> None:
    server.script = [(503, {"Retry-After": "1"}, {}), (429, {"Retry-After": "3600"}, {})]
    at = Seat(client(server, retry_after_limit_seconds=1.2))
    started = time.monotonic()
    at.play(1)
    assert 2.1 < time.monotonic() - started < 5


def test_one_refused_turn_costs_its_batch_nothing(server: Server) -> None:
    server.script = [
        (200, {}, {"results": [{"status": "written"}, {"status": "refused", "reason": "bad_value"}]})
    ]
    at = Seat(client(server, linger_seconds=0.2))
    for index in range(2):
        with at.turn(index) as turn:
            turn.response("ok")
    result = at.client.flush(5)
    assert (result.written, dict(result.lost)) == (1, {"bad_value": 1})


def test_an_item_that_failed_is_sent_again_alone(server: Server) -> None:
    server.script = [(200, {}, {"results": [{"status": "written"}, {"status": "failed", "reason": "OOM"}]})]
    at = Seat(client(server, linger_seconds=0.2))
    for index in range(2):
        with at.turn(index) as turn:
            turn.response("ok")
    assert at.client.flush(5).written == 2
    assert [len(payload["turns"]) for _, _, payload in server.requests] == [2, 1]


def test_a_batch_that_is_too_large_is_halved_until_only_the_large_one_is_refused(server: Server) -> None:
    at = Seat(client(server, linger_seconds=0.3))
    server.script = [
        (413, {}, {}),
        (413, {}, {}),
        (413, {}, {}),
        (200, {}, {"results": [{"status": "written"}]}),
    ]
    for index in range(4):
        with at.turn(index) as turn:
            turn.response("ok")
    result = at.client.flush(5)
    assert (result.written, dict(result.lost)) == (3, {"too_large": 1})
    assert [len(payload["turns"]) for _, _, payload in server.requests] == [4, 2, 1, 1, 2]


@pytest.mark.parametrize("answer", [b"<html>hello</html>", {"ok": True}, {"results": [1]}, {"results": []}])
def test_something_else_that_answers_there_is_named(server: Server, answer: Any) -> None:
    server.script = [(200, {}, answer)]
    at = Seat(client(server))
    with at.turn(1) as turn:
        turn.response("ok")
    assert at.client.flush(5).lost == {"no_capture_server": 1}


def test_a_server_that_is_not_there_is_tolerated_and_its_turns_counted() -> None:
    config = Config(base_url="http://127.0.0.1:1", service_key=KEY, max_attempts=2, **FAST)
    at = Seat(Client(config))
    with at.turn(1) as turn:
        turn.response("ok")
    assert sum(at.client.flush(5).lost.values()) == 1


def test_a_charge_is_written_when_the_call_returns(server: Server) -> None:
    at = Seat(client(server))
    with at.turn(1) as turn:
        take(turn, at.outbox, usage={"prompt_tokens": 100, "completion_tokens": 20, "extra": {"kept": 2**70}})
    charge = turn.charge()
    at.client.record_charge(charge)
    # The turn is delivered in the background, before the charge or after it.
    ((_, _, payload),) = [each for each in list(server.requests) if each[0].endswith("/charges")]
    assert charge_from_json(payload["charges"][0]) == charge


@pytest.mark.parametrize(
    ("status", "answer", "retryable"),
    [
        (503, {}, True),
        (401, {}, False),
        (200, {"results": [{"status": "refused", "message": "handNumber"}]}, False),
    ],
)
def test_a_charge_that_is_not_written_raises_and_says_whether_to_try_again(
    server: Server, status: int, answer: Any, retryable: bool
) -> None:
    at = Seat(client(server))
    turn = at.play(1)
    server.script = [(status, {}, answer)]
    with pytest.raises(LedgerError) as caught:
        at.client.record_charge(turn.charge())
    assert caught.value.retryable is retryable
    assert KEY not in str(caught.value)
    at.client.record_charge(turn.charge())  # the same call again is the caller's to make


def test_a_client_without_a_ledger_says_what_to_set() -> None:
    at = Seat(Client(transport=MemoryTransport()))
    with pytest.raises(ConfigError, match="base_url and service_key"):
        at.client.record_charge(at.play(1).charge())


def test_a_ledger_of_ones_own_takes_the_charges() -> None:
    class Book:
        rows: list[Any] = []  # noqa: RUF012

        def record(self, charge: Any) -> None:
            self.rows.append(charge)

        def close(self) -> None: ...

    book = Book()
    at = Seat(Client(transport=MemoryTransport(), ledger=book))
    at.client.record_charge(at.play(1).charge())
    assert [each.key.action_index for each in book.rows] == [1]


def test_no_key_shows_in_a_repr_or_a_log_line(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.script = [(500, {}, {})] * 9
    at = Seat(client(server, max_attempts=2))
    with at.turn(1) as turn:
        turn.response("ok")
    at.client.flush(5)
    assert "hunter2" not in caplog.text + repr(at.client)
