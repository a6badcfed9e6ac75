"""The outbound lint follows a connection through names, attributes, annotations, containers and calls."""

import pytest

from capture_sdk.lint import check

HANDED_ON = {
    "the method handed on": "send = sock.sendall",
    "an alias": "async def f(ws):\n push = ws.send\n await push(m)",
    "an alias on self": "class A:\n def f(self, ws): self.push = ws.send",
    "to a pool": "pool.submit(connection.send, message)",
    "to a thread": "await asyncio.to_thread(sock.send, b'x')",
    "functools.partial": "functools.partial(sock.sendall, b'x')",
    "functools.partial of a websocket": "push = partial(ws.send, m)",
    "getattr": "getattr(sock, 'send')(b'x')",
    "getattr with a default": "push = getattr(self.ws, 'send', None)",
    "methodcaller": "from operator import methodcaller as call\ncall('send', m)(ws)",
    "called by its dunder": "ws.send.__call__(m)",
    "a lambda that is no door": "push = lambda m: ws.send(m)",
    "returned": "def f(ws): return ws.send",
    "in a table of verbs": "verbs = {'say': ws.send}",
    "past the door": "outbox = Outbox(sock.sendall)\nsock.sendall(b'x')",
    "past the door, through the door": "outbox = Outbox(deliver)\noutbox._send(m)",
    "while the door is made": "Outbox(wrap(ws.send(b'hello')))",
    "a real send with another use": """
def f(ws):
    push = ws.send
    push(hello)
    return Outbox(push)""",
    "a public real send": "class A:\n def f(self): Outbox(self.tell)\n def tell(self, m): self.ws.send(m)",
    "a false outbox": "def f(ws):\n outbox = ws\n outbox.send(m)",
}
NAMES = {
    "a parameter": "async def f(conn): await conn.send(m)",
    "a parameter with a number": "async def f(ws2): await ws2.send(m)",
    "a parameter in camel case": "def f(clientSocket): clientSocket.send(m)",
    "an attribute": "self.game_ws.send(m)",
    "an imported name": "from app import ws\nws.send(m)",
    "another name for it": "def f(ws):\n table = ws\n table.send(m)",
    "a walrus": "if (table := connect(u)): table.send(m)",
    "a match": "match connect(u):\n case table: table.send(m)",
    "a match on the class": "match seat.peer:\n case WebSocket() as table: table.send(m)",
    "isinstance": "if isinstance(peer, socket.socket): peer.send(m)",
    "either of two": "def f(a):\n table = a or socket.socket()\n table.send(b'x')",
    "a closure": "def f():\n table = connect(u)\n def g(): table.send(m)",
    "a global": "table = None\ndef f():\n global table\n table = connect(u)\ndef g(): table.send(m)",
    "an exit stack": "table = await stack.enter_async_context(connect(u))\nawait table.send(m)",
    "closing": "with contextlib.closing(socket.socket()) as peer: peer.send(b'x')",
}
ATTRIBUTES = {
    "assigned here": """
class A:
    def f(self):
        self.table = socket.socket()
        self.table.send(b'x')""",
    "assigned in another method": """
class A:
    def say(self): self.table.send(m)
    async def open(self): self.table = await websockets.connect(u)""",
    "assigned by with": "class A:\n def f(self):\n  with connect(u) as self.table: self.table.send(m)",
    "assigned in a parent": """
class A:
    def __init__(self): self.table = connect(u)
class B(A):
    def f(self): self.table.send(m)""",
    "a dataclass field": "@dataclass\nclass A:\n table: WebSocket\n def f(self): self.table.send(m)",
    "of another object": "class A:\n table: WebSocket\ndef f(a: A): a.table.send(m)",
    "of an object of no known class": "class A:\n table: WebSocket\ndef f(a): a.table.send(m)",
    "set from outside": "app.state.table = connect(u)\napp.state.table.send(m)",
    "a property": """
class A:
    @property
    def table(self) -> WebSocket: return self.x
    def f(self): self.table.send(m)""",
    "inherited": "class A(WebSocket):\n def f(self): self.send(m)",
    "inherited, from outside": "class A(WebSocket): pass\ntable = A()\ntable.send(m)",
    "super": "class A(WebSocket):\n async def tell(self, m): await super().send(m)",
}
ANNOTATIONS = {
    "an argument": "def f(table: WebSocket): table.send(m)",
    "a string": "def f(table: 'WebSocket'): table.send(m)",
    "an option": "def f(table: Optional[WebSocket] = None): table.send(m)",
    "a union": "def f(table: None | socket.socket): table.send(m)",
    "a string of a union": "def f(table: 'fastapi.WebSocket | None'): table.send(m)",
    "annotated": "def f(table: Annotated[WebSocket, Depends(x)]): table.send(m)",
    "a variable": "table: WebSocket = make()\ntable.send(m)",
    "another name": "Table = Optional[WebSocket]\ndef f(table: Table): table.send(m)",
    "cast": "table = cast('WebSocket', x)\ntable.send(m)",
    "a result": "def make() -> WebSocket: ...\ntable = make()\ntable.send(m)",
    "a result without an annotation": "def make(): return connect(u)\nmake().send(m)",
    "a context without an annotation": """
@contextmanager
def make():
    with connect(u) as t: yield t
with make() as table: table.send(m)""",
    "for type checking only": """
if TYPE_CHECKING:
    from websockets import ClientConnection as C
def f(table: 'C'): table.send(m)""",
}
CONTAINERS = {
    "by index": "class A:\n peers: list[WebSocket]\n def f(self, i): self.peers[i].send(m)",
    "by telling name": "self.sockets[i].send(m)",
    "all of them": "async def f(self):\n for s in self.sockets: await s.send(m)",
    "all of an annotated dict": """
def f(peers: dict[str, WebSocket]):
    for name, peer in peers.items(): peer.send(m)""",
    "put in later": """
class A:
    def __init__(self): self.peers = set()
    def add(self, ws): self.peers.add(ws)
    def tell(self, m):
        for peer in list(self.peers): peer.send(m)""",
    "put in by key": "peers = {}\ndef f(ws): peers[1] = ws\ndef g(): peers[1].send(m)",
    "a comprehension": "def f(peers: set[WebSocket]): return gather(*[p.send(m) for p in peers])",
    "a field's factory": "class A:\n p: list[WebSocket] = field()\n def f(self): self.p.pop().send(m)",
    "pairs": "def f(peers: list[WebSocket]):\n for i, p in enumerate(peers): p.send(m)",
}
CALLS = {
    "an argument of a function here": "def f(table): table.send(m)\nf(connect(u))",
    "a named argument": "def f(x, *, table): table.send(m)\nf(1, table=connect(u))",
    "an argument of a method here": """
class A:
    def f(self, table): table.send(m)
    def g(self): self.f(connect(u))""",
    "an argument of a class here": """
class A:
    def __init__(self, table): self.table = table
    def f(self): self.table.send(m)
A(connect(u))""",
}
FOUND = HANDED_ON | NAMES | ATTRIBUTES | ANNOTATIONS | CONTAINERS | CALLS
IDS = [
    f"{road}: {each}"
    for road, probes in {
        "handed on": HANDED_ON,
        "name": NAMES,
        "attribute": ATTRIBUTES,
        "annotation": ANNOTATIONS,
        "container": CONTAINERS,
        "call": CALLS,
    }.items()
    for each in probes
]


@pytest.mark.parametrize("source", FOUND.values(), ids=IDS)
def test_a_connection_is_followed(source: str) -> None:
    assert [finding.code for finding in check(source)] == ["OUT001"]
