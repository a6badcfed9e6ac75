"""The outbound lint leaves the outbox alone, and whatever else has a method of that name."""

import pytest

from capture_sdk.lint import check

DOORS = {
    "the outbox": "outbox.send(message)",
    "the outbox of a seat": "await self.outbox.send(message)",
    "one of many": "self.outboxes[seat].send(m)",
    "by another name": "door = Outbox(sock.sendall)\ndoor.send(m)",
    "named like a connection": "ws = AsyncOutbox(sock.sendall)\nawait ws.send(m)",
    "by a renamed import": "from capture_sdk import Outbox as Door\nd = Door(ws.send)\nd.send(m)",
    "annotated": "def f(door: AsyncOutbox[dict, None]): door.send(m)",
    "annotated in a string": "def f(conn: 'Outbox[dict, None] | None'): conn.send(m)",
    "in a container": "def f(doors: dict[str, Outbox]):\n for conn in doors.values(): conn.send(m)",
    "an attribute, annotated": "class A:\n conn: Outbox\n def f(self): self.conn.send(m)",
    "handed on": "def f(conn: Outbox): return partial(conn.send, m)",
    "a subclass": """
class Door(Outbox):
    def send(self, m): return super().send(m)
conn = Door(ws.send)
conn.send(m)""",
    "the making": "Outbox(sock.sendall)",
    "the async making": "AsyncOutbox(websocket.send)",
    "the making by keyword": "Outbox(send=ws.send, secrets=[token])",
    "the making with parameters": "Outbox[dict, None](ws.send)",
    "the making with a lambda": "Outbox(lambda m: ws.send(json.dumps(m)))",
    "the making with a partial": "Outbox(partial(ws.send, text=True))",
    "the making with getattr": "Outbox(getattr(ws, 'send'))",
    "the making with a choice": "Outbox(ws.send if text else ws.send_bytes)",
    "the making with an alias": "def f(ws):\n push = ws.send\n return Outbox(push)",
    "the making with a local function": """
def f(ws):
    async def push(m): await ws.send(json.dumps(m))
    return AsyncOutbox(push)""",
    "the making with a private method": """
class A:
    def __init__(self): self.outbox = Outbox(self._push)
    def _push(self, m): self.ws.send(self._pack(m))""",
    "the making in a subclass": "class A(Outbox):\n def __init__(self, ws): super().__init__(ws.send)",
    "the making, qualified": "import capture_sdk as c\nc.Outbox(ws.send)",
}
HTTP = {
    "an HTTP client": "client = httpx.Client()\nclient.send(request)\nclient.post(url, json=body)",
    "a client as a context": "async with httpx.AsyncClient() as conn: await conn.send(request)",
    "an annotated client": "def f(conn: httpx.Client): conn.send(request)",
    "a session": "import requests\nsession = requests.Session()\nsession.send(prepared)",
    "an HTTP connection": "import http.client\nconn = http.client.HTTPSConnection(h)\nconn.send(b'x')",
    "an HTTP transport": "transport = httpx.HTTPTransport()\ntransport.send(request)",
    "an HTTP answer": """
class H(BaseHTTPRequestHandler):
    def do_GET(self): self.wfile.write(b'x')""",
    "a Django answer": "response = HttpResponse()\nresponse.write('x')",
    "a queue at Amazon": "import boto3\nclient = boto3.client('sqs')\nclient.send_message(MessageBody=m)",
    "a queue named conn": "import boto3\nconn = boto3.client('sqs')\nconn.send_message(MessageBody=m)",
}
FILES = {
    "a file": "with open(p, 'w') as out:\n out.write('x')",
    "a file named writer": "with open(p, 'w') as writer: writer.write('x')",
    "a file of a path": "with path.open('w') as writer: writer.writelines(lines)",
    "a file in memory": "import io\nwriter = io.StringIO()\nwriter.write('x')",
    "a packed file": "import gzip\nwith gzip.open(p, 'wt') as writer: writer.write('x')",
    "a file of a codec": "import codecs\nwriter = codecs.getwriter('utf-8')(f)\nwriter.write('x')",
    "a codec's StreamWriter": "def f(out: codecs.StreamWriter): out.write('x')",
    "an annotated file": "def f(writer: TextIO): writer.write('x')",
    "an annotated file of either kind": "def f(writer: IO[str] | None): writer.write('x')",
    "a file on self": """
class A:
    def __init__(self, p): self.writer = open(p, 'w')
    def f(self): self.writer.write('x')""",
    "a table": "import csv\nwriter = csv.writer(f)\nwriter.writerow(row)",
    "a document": "from pypdf import PdfWriter\nwriter = PdfWriter()\nwriter.write('a.pdf')",
    "a film": "import cv2\nwriter = cv2.VideoWriter(p)\nwriter.write(frame)",
    "a writer of tables": "def f(csv_writer): csv_writer.write(row)",
    "standard output": "sys.stdout.write('x')",
    "standard output's bytes": "import sys\nwriter = sys.stdout.buffer\nwriter.write(b'x')",
    "a file's descriptor": "import os\nwith open(p, 'w') as f: os.write(f.fileno(), b'x')",
    "standard error's descriptor": "import os, sys\nos.write(sys.stderr.fileno(), b'x')",
    "a number": "os.write(1, b'x')",
    "a path": "path.write_text('x')",
    "a process": "process.stdin.write(b'x')",
}
OTHERS = {
    "a generator": "generator.send(None)",
    "a generator named conn": "def f(conn): conn.send(None)",
    "a generator made here": "def rows():\n while True: row = yield\nwriter = rows()\nwriter.send(row)",
    "an annotated generator": "def f(conn: Generator[int, str, None]): conn.send('x')",
    "a pipe by no telling name": "left.send(1)",
    "a pipe to a worker": "from multiprocessing import Pipe\nconn, theirs = Pipe()\nconn.send(1)",
    "a pipe to a worker, qualified": "import multiprocessing as m\nconn, _ = m.Pipe()\nconn.send_bytes(b'')",
    "a signal": "post_save.send(sender=Model)",
    "a signal named like a connection": "new_connection.send(sender=self, seat=seat)",
    "a blinker signal": "from blinker import signal\nconn = signal('c')\nconn.send(app)",
    "a namespace's signal": "import blinker\nn = blinker.Namespace()\nconn = n.signal('c')\nconn.send(app)",
    "a Django signal": "from django.dispatch import Signal\nws = Signal()\nws.send(self)",
    "a Qt signal": "self.moved.emit(1)",
    "a log handler": "handler.emit(record)",
    "a logger": "import logging\nlog = logging.getLogger()\nlog.warning('sock.send')",
    "a mail": "EmailMessage('hi').send()",
    "a mail server": "with smtplib.SMTP(h) as smtp: smtp.send_message(mail)",
    "a mail server named conn": "import smtplib\nconn = smtplib.SMTP(h)\nconn.send_message(mail)",
    "Django's mail": "from django.core import mail\nconn = mail.get_connection()\nconn.send_message(m)",
    "psycopg": "c = psycopg.connect(url)\nc.send(1)",
    "psycopg, named": "import psycopg as p\nwith p.connect(url) as conn: conn.send(1)",
    "psycopg, annotated": "def f(conn: 'psycopg.Connection[Row]'): conn.write(1)",
    "psycopg's copy": "with conn.cursor().copy(q) as copy: copy.write(row)",
    "sqlite": "from sqlite3 import connect\nconn = connect(p)\nconn.send(1)",
    "Django's database": "from django.db import connection\nconnection.send(1)",
    "redis": "import redis\nconn = redis.Redis()\nconn.publish('c', m)",
    "redis by name": "def f(redis_conn): redis_conn.publish('c', m)",
    "a database by name": "self.db_conn.send(q)",
    "a mock": "ws = AsyncMock()\nawait ws.send(m)",
    "a mock of a class": "ws = Mock(spec=WebSocket)\nws.send(m)",
    "a mock's memory": "ws.send.assert_awaited_once_with(m)",
    "a mock's answer": "ws.send.side_effect = OSError",
    "a mock put in": "ws.send = AsyncMock()",
    "a patch": "patch.object(ws, 'send')",
    "a question": "hasattr(ws, 'send')",
    "a definition": "class Door:\n def send(self, m): ...",
    "a class here that sends its own way": """
class Seat:
    def send_json(self, m): self.outbox.send(m)
    def f(self): self.send_json(1)""",
    "a class here, named conn": """
class Seat:
    def send(self, m): self.outbox.send(m)
conn = Seat()
conn.send(m)""",
    "a string and a comment": "x = 'sock.sendall(b)'  # sock.sendall(b)",
    "what is heard": "m = await ws.recv()\nfor m in ws: print(m)",
    "ping, close and drain": "await ws.ping()\nawait ws.close()\nawait writer.drain()",
    "two scopes, one name": """
def f(p):
    with open(p) as out: out.write('x')
def g():
    out = socket.socket()
    out.close()""",
}
LEFT = {
    f"{group}: {each}": source
    for group, probes in {"door": DOORS, "HTTP": HTTP, "file": FILES, "other": OTHERS}.items()
    for each, source in probes.items()
}


@pytest.mark.parametrize("source", LEFT.values(), ids=LEFT)
def test_it_is_left(source: str) -> None:
    assert [str(finding) for finding in check(source)] == []
