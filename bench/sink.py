"""A loopback HTTP server that takes what the peers send and answers as their servers would.

``python -m bench.sink`` prints its port. ``GET /bench/turns`` gives the number of different turns among
what came, found by their names in the (decompressed) bodies, which are kept until then: looking
into them earlier would take time from what is being measured.
"""

import gzip
import json
import re
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

TURNS_PATH: Final = "/bench/turns"
_NAME: Final = re.compile(rb"benchturn\d{7}")
_JSON: Final = "application/json"
_NOTHING_FOUND: Final = b'{"content":[],"data":[],"total":0,"page":1,"size":0,"version":"1.0.0"}'

Body = tuple[bytes, str]


class Sink(ThreadingHTTPServer):
    """Keeps every body with its encoding."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[Body] = []
        self.guard = threading.Lock()

    def turns(self) -> int:
        """How many different turns came."""
        with self.guard:
            return len({name for body in self.bodies for name in _NAME.findall(_plain(*body))})


class Handler(BaseHTTPRequestHandler):
    """Answers one connection, which the peers keep open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Sink

    def do_GET(self) -> None:
        """An empty page of whatever was asked for."""
        found = json.dumps({"turns": self.server.turns()}).encode() if self.path == TURNS_PATH else None
        self._answer(200, found or _NOTHING_FOUND, _JSON)

    def do_POST(self) -> None:
        """Take the body; spans over OTLP get an empty protobuf, Langfuse's batches and Opik's their own."""
        body = self._body()
        with self.server.guard:
            self.server.bodies.append((body, self.headers.get("Content-Encoding", "")))
        if self.path.endswith("/v1/traces"):
            self._answer(200, b"", "application/x-protobuf")
        elif self.path.endswith("/ingestion"):
            self._answer(207, b'{"successes":[],"errors":[]}', _JSON)
        elif "/private/" in self.path:
            self._answer(204, b"", None)
        else:
            self._answer(200, b"{}", _JSON)

    do_PUT = do_PATCH = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return b"".join(iter(self._chunk, b""))
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline().split(b";")[0], 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def _answer(self, status: int, body: bytes, kind: str | None) -> None:
        self.send_response(status)
        if kind is not None:
            self.send_header("Content-Type", kind)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _plain(body: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(body)
    return zlib.decompress(body) if encoding == "deflate" else body


def main() -> None:
    """Serve until the process is ended."""
    with Sink() as sink:
        sys.stdout.write(f"{sink.server_address[1]}\n")
        sys.stdout.flush()
        sink.serve_forever()


if __name__ == "__main__":
    main()
