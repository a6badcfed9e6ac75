"""The outbound lint, tried on code as seats and tables write it."""

import pytest

from capture_sdk.lint import check

FOUND = {
    "entered by hand": """
class A:
    async def __aenter__(self):
        self.t = await connect(u).__aenter__()
    async def say(self): await self.t.send(m)""",
    "made first, awaited later": "async def f():\n c = connect(u)\n t = await c\n await t.send(m)",
    "none at first, told in a string": """
class A:
    def __init__(self):
        self.t: 'websockets.WebSocketClientProtocol | None' = None
    async def f(self):
        assert self.t is not None
        await self.t.send(m)""",
    "answered while listening": """
async def h(request):
    t = web.WebSocketResponse()
    await t.prepare(request)
    async for msg in t:
        await t.send_str('x')""",
    "an endpoint class": """
class E(WebSocketEndpoint):
    async def on_receive(self, t, data): await t.send_json(1)""",
    "an app's callback": """
import websocket
def on_open(w): w.send(m)
websocket.WebSocketApp(u, on_open=on_open)""",
    "a socketio namespace": """
import socketio
class N(socketio.AsyncNamespace):
    async def on_move(self, sid, d): await self.emit('x', d)""",
    "a maker made ready": """
from functools import partial
mk = partial(websockets.connect, u)
async def f():
    t = await mk()
    await t.send(m)""",
    "a handler made ready": """
async def f(x, t): await t.send(m)
websockets.serve(partial(f, 1), 'h', 1)""",
    "a method as a handler": """
class A:
    async def f(self, t): await t.send(m)
    async def run(self): await websockets.serve(self.f, 'h', 1)""",
    "a default argument": "def f(m, push=ws.send): push(m)",
    "mapped over messages": "await asyncio.gather(*map(ws.send, ms))",
    "a task": "asyncio.create_task(ws.send(m))",
    "a thread's target": "threading.Thread(target=ws.send, args=(m,)).start()",
    "called by the loop": "loop.call_soon_threadsafe(transport.write, b'x')",
    "run in an executor": "loop.run_in_executor(None, self._sock.sendall, b'x')",
    "either of two, on the spot": "(ws or other).send(m)",
    "one of a telling dict": "self.connections.get(i).send(m)",
    "a weak set": """
class A:
    def __init__(self): self.live = weakref.WeakSet()
    def add(self, ws): self.live.add(ws)
    def f(self):
        for t in self.live: t.send(m)""",
    "a dict of sets": """
class A:
    def __init__(self): self.live = defaultdict(set)
    def add(self, k, websocket): self.live[k].add(websocket)
    def f(self, k):
        for t in self.live[k]: t.send(m)""",
    "a named tuple": "class P(NamedTuple):\n t: WebSocket\ndef f(p: P): p.t.send(m)",
    "a type variable": "T = TypeVar('T', bound=WebSocket)\ndef f(t: T): t.send(m)",
    "a new type": "Table = NewType('Table', WebSocket)\ndef f(t: Table): t.send(m)",
    "an alias in a string": "Table: TypeAlias = 'WebSocket'\ndef f(t: Table): t.send(m)",
    "any number of them": "def f(*ts: WebSocket):\n for t in ts: t.send(m)",
    "any number of them, by name": "def f(**ts: WebSocket):\n for t in ts.values(): t.send(m)",
    "a cached property": """
class L:
    @cached_property
    def peer(self): return socket.socket()
    def f(self): self.peer.send(b'')""",
    "a generator of them": """
async def conns():
    async for t in connect(u): yield t
async def f():
    async for x in conns(): await x.send(m)""",
    "an optional import": """
try:
    import websockets as w
except ImportError:
    w = None
t = w.connect(u)
t.send(m)""",
    "a socket's file in one with": """
with socket.create_connection(a) as s, s.makefile('rw') as f:
    f.write('x')""",
    "a handler's writer": "async def handle(reader, writer): writer.write(b'x')",
    "a context variable": "cur: ContextVar[WebSocket] = ContextVar('c')\ndef f(): cur.get().send(m)",
    "a queue of them": """
q: asyncio.Queue[WebSocket] = asyncio.Queue()
async def f():
    t = await q.get()
    await t.send(m)""",
    "a match on a mapping": "match x:\n case {'ws': ws}: ws.send(m)",
    "a class's own": "class A:\n t = socket.socket()\nA.t.send(b'')",
    "assigned in a pair": """
class A:
    def __init__(self, ws, n): self.raw, self.n = ws, n
    def f(self): self.raw.send(m)""",
    "kept from the making": """
class A:
    def __init__(self, websocket): self.t = websocket
    def f(self): self.t.send(m)""",
    "kept from the making, annotated": """
class A:
    def __init__(self, t: WebSocket): self._t = t
    def f(self): self._t.send_text(m)""",
    "a class that sends for others": """
class Table:
    def __init__(self, ws): self.ws = ws
    def send(self, m): self.ws.send(m)
t = Table(x)
t.send(m)""",
    "an outbox or a websocket": "def f(t: Outbox | WebSocket): t.send(m)",
    "a Channels JSON consumer": """
class C(AsyncJsonWebsocketConsumer):
    async def f(self): await self.send_json({})""",
    "a process elsewhere, renamed": """
import multiprocessing.connection as mc
c = mc.Client(a)
c.send(1)""",
}
LEFT = {
    "a database at work": "conn = sqlite3.connect(p)\nconn.execute(q)\nconn.commit()",
    "redis, asynchronous": """
import redis.asyncio as aioredis
conn = aioredis.from_url(u)
await conn.publish('c', m)""",
    "an HTTP adapter": "class A(HTTPAdapter):\n def send(self, request): return super().send(request)",
    "a columnar writer": """
import pyarrow as pa
with pa.ipc.RecordBatchStreamWriter(p, s) as writer: writer.write(t)""",
    "an asynchronous file": "async with aiofiles.open(p, 'w') as writer: await writer.write(x)",
    "a mock's memory, deeper": "seat.ws.send.assert_not_called()\nassert ws.send.call_count == 1",
    "a mock as an argument": "def test(ws: MagicMock): ws.send('x')",
    "a patch by name": "monkeypatch.setattr(WebSocket, 'send', f)\nmonkeypatch.setattr(ws, 'send', f)",
    "an HTTP connection at work": """
conn = http.client.HTTPConnection(h)
conn.request('GET', '/')
conn.send(b'x')""",
    "a generator named conn": "def g():\n x = yield\n\nconn = g()\nnext(conn)\nconn.send(1)",
    "a log of events": "producer.send('t', m)",
    "a queue resource": "queue = boto3.resource('sqs').Queue(u)\nqueue.send_message(MessageBody=m)",
    "a mail of many parts": "msg = EmailMultiAlternatives('x')\nmsg.send()",
    "a mail server on self": """
class M:
    def __init__(self): self.conn = smtplib.SMTP('h')
    def f(self, m): self.conn.send_message(m)""",
    "a chat": "bot.send_message(chat, 'x')",
    "an outbox of many": "self.outboxes['a'].send(m)",
    "the outbox of another": "await self.seat.outbox.send(m)",
    "an outbox of what is given": """
class S:
    def __init__(self, send):
        self.door = Outbox(send)
    def f(self, m): self.door.send(m)""",
    "an outbox, annotated and made": """
door: Outbox[Frame, None] = Outbox(sock.sendall, secrets=[t])
door.send(m)""",
    "an outbox of a factory": """
def make(ws) -> AsyncOutbox: return AsyncOutbox(ws.send)
door = make(x)
door.send(m)""",
    "an outbox of a factory without an annotation": """
def make(ws): return AsyncOutbox(ws.send_json)
ws2 = make(x)
ws2.send(m)""",
    "an outbox as an argument": "def say(conn): conn.send(m)\nsay(Outbox(ws.send))",
    "an engine's connection": """
from sqlalchemy import create_engine
conn = create_engine(u).connect()
conn.send(1)""",
    "a file in an archive": """
with zipfile.ZipFile(p) as z, z.open('x', 'w') as writer: writer.write(b'')""",
    "a temporary file": "with tempfile.NamedTemporaryFile() as writer: writer.write(b'x')",
    "a packed file on self": """
class A:
    def __init__(self): self._writer = gzip.open(p)
    def f(self): self._writer.write(b'')""",
    "a summary": "writer = SummaryWriter()\nwriter.add_scalar('x', 1)",
    "a film of another library": "writer = imageio.get_writer(p)\nwriter.append_data(x)",
    "paths with telling names": "Path('ws').write_text('x')\n(self.dir / 'sock').write_bytes(b'')",
    "a pipe of the system": "r, w = os.pipe()\nos.write(w, b'x')",
    "a pipe of a context": """
import multiprocessing
ctx = multiprocessing.get_context('spawn')
conn, other = ctx.Pipe()
conn.send(1)""",
    "a channel in memory": "send, receive = anyio.create_memory_object_stream()\nawait send.send(m)",
    "what is received": "m = ws.recv()\nm2 = await websocket.receive_json()",
    "an acceptance": "await websocket.accept()",
    "a protocol": "class Link(Protocol):\n def send(self, m: bytes) -> None: ...",
    "a callable argument": "def f(send: Callable[[bytes], None]): send(b'x')",
    "a callable that takes a websocket": "def f(push: 'Callable[[WebSocket], None]'): push.send(1)",
    "two classes, one attribute": """
class A:
    def __init__(self, p): self.out = open(p)
    def f(self): self.out.write('x')
class B:
    def __init__(self): self.out = socket.socket()""",
    "two functions, one name": """
def a():
    conn = sqlite3.connect(p)
    conn.send(1)
def b():
    conn = socket.socket()
    conn.close()""",
    "an outbox of a lambda by keyword": "AsyncOutbox(send=lambda m: ws.send_json(m))",
    "an outbox by decoration": "@Outbox\ndef door(m): sock.sendall(m)",
    "a local function named send": """
def make(ws):
    async def send(m): await ws.send_text(json.dumps(m))
    return AsyncOutbox(send=send)""",
    "two private steps": """
class A:
    def __init__(self): self.o = Outbox(self._send)
    def _send(self, m): self._raw(m)
    def _raw(self, m): self.ws.send(m)""",
    "a private alias on self": """
class A:
    def __init__(self, ws):
        self._raw = ws.send
        self.o = Outbox(self._raw)""",
    "an imported outbox": "from seat import outbox\noutbox.send(m)",
    "outboxes by seat": "doors = {i: Outbox(s.sendall) for i, s in x}\ndoors[1].send(m)",
    "outboxes in a row": """
doors = [Outbox(s.sendall) for s in self.sockets]
for conn in doors: conn.send(m)""",
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_it_is_found_once(source: str) -> None:
    assert [finding.code for finding in check(source)] == ["OUT001"]


@pytest.mark.parametrize("source", LEFT.values(), ids=LEFT)
def test_it_is_left(source: str) -> None:
    assert [str(finding) for finding in check(source)] == []
