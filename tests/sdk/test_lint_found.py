"""The outbound lint finds the sends of the usual libraries, each once."""

import pytest

from capture_sdk.lint import check

SOCKETS = {
    "a socket's sendall": "sock.sendall(b'x')",
    "whatever has a sendall": "self.peer.sendall(b'x')",
    "a datagram": "peer.sendto(b'x', address)",
    "a connection made here": "import socket\ntable = socket.create_connection(a)\ntable.send(b'x')",
    "a renamed import": "import socket as s\npeer = s.socket()\npeer.send(b'x')",
    "a renamed class": "from socket import socket as S\npeer = S()\npeer.send(b'x')",
    "a chained making": "create_connection(a).send(b'x')",
    "a class's method": "import socket\nsocket.socket.send(peer, b'x')",
    "the class of an instance": "import socket\npeer = socket.socket()\ntype(peer).send(peer, b'x')",
    "a dialled socket": "import socket\nleft, right = socket.socketpair()\nright.send(b'x')",
    "an accepted socket": "peer, address = listener.accept()\npeer.send(b'x')",
    "a TLS socket": "import ssl\ntls = context.wrap_socket(raw)\ntls.write(b'x')",
    "a TLS socket, annotated": "import ssl\ndef f(tls: ssl.SSLSocket): tls.send(b'x')",
    "a file made of a socket": "out = sock.makefile('w')\nout.write('x')",
    "a file over a descriptor": "import os\nout = os.fdopen(sock.fileno(), 'w')\nout.write('x')",
    "the file descriptor": "os.write(sock.fileno(), b'x')",
    "the file descriptor, named": "import os\nfd = sock.fileno()\nos.write(fd, b'x')",
    "the file descriptor, imported": "from os import write\nwrite(sock.fileno(), b'x')",
    "the event loop": "await loop.sock_sendall(peer, b'x')",
    "the event loop's file": "await loop.sendfile(transport, file)",
    "descriptors over a socket": "import socket\nsocket.send_fds(peer, [b'x'], [1])",
    "a request handler's file": """
class H(socketserver.StreamRequestHandler):
    def handle(self): self.wfile.write(b'x')""",
    "a request handler's socket": """
class H(socketserver.BaseRequestHandler):
    def handle(self): self.request.send(b'x')""",
    "a process on another machine": """
from multiprocessing.connection import Client
peer = Client(address)
peer.send(m)""",
}
STREAMS = {
    "a stream writer": "async def f():\n r, w = await asyncio.open_connection(h, p)\n w.write(b'x')",
    "a stream writer in time": """
async def f():
    r, w = await asyncio.wait_for(asyncio.open_connection(h, p), 5)
    w.write(b'x')""",
    "a stream writer, annotated": "def f(out: asyncio.StreamWriter): out.writelines(lines)",
    "a writer, by name": "writer.writelines(lines)",
    "a server's handler": """
async def table(r, out): out.write(b'x')
asyncio.start_server(table, port=1)""",
    "an asyncio transport": "self.transport.write(b'x')",
    "a protocol's transport": """
class P(asyncio.Protocol):
    def connection_made(self, t): self.out = t
    def data_received(self, data): self.out.write(data)""",
    "a datagram transport": """
async def f():
    out, _ = await loop.create_datagram_endpoint(P)
    out.sendto(b'x')""",
    "anyio": "async def f():\n s = await anyio.connect_tcp(h, p)\n await s.send(b'x')",
    "trio": "async def f():\n s = await trio.open_tcp_stream(h, p)\n await s.send_all(b'x')",
}
LIBRARIES = {
    "aiohttp": "await self.ws.send_str(text)",
    "aiohttp, by name": "await conn.send_json(message)",
    "aiohttp's client": """
async def f():
    async with aiohttp.ClientSession() as session, session.ws_connect(u) as table:
        await table.send_bytes(b'x')""",
    "aiohttp's server": "table = web.WebSocketResponse()\nawait table.send_str(m)",
    "aiohttp's frames": "table = web.WebSocketResponse()\nawait table.send_frame(b'x', 1)",
    "starlette": "await websocket.send_text(text)",
    "starlette, renamed": """
from starlette.websockets import WebSocket as WS
async def f(table: WS): await table.send(m)""",
    "fastapi's route": "@app.websocket('/')\nasync def f(table): await table.send(m)",
    "ASGI itself": "async def app(scope, receive, send): await send({'type': 'websocket.send', 'text': m})",
    "a Channels consumer": """
class C(AsyncWebsocketConsumer):
    async def receive(self, text_data): await self.send(text_data)""",
    "quart": "from quart import websocket\nawait websocket.send(m)",
    "tornado": "class H(WebSocketHandler):\n def on_message(self, m): self.write_message(m)",
    "autobahn": "class P(WebSocketClientProtocol):\n def onOpen(self): self.sendMessage(m)",
    "websockets": "await ws.send(message)",
    "websockets, as a context": """
async def f():
    async with websockets.connect(u) as table: await table.send(m)""",
    "websockets, reconnecting": """
import websockets as w
async def f():
    async for table in w.connect(u): await table.send(m)""",
    "websockets, awaited": "from websockets import connect as c\ntable = await c(u)\nawait table.send(m)",
    "websockets, serving": "async def f(table): await table.send(m)\nwebsockets.serve(f, 'h', 1)",
    "websockets, new and synchronous": """
from websockets.sync.client import connect
with connect(u) as table: table.send(m)""",
    "websockets, annotated": "def f(t: websockets.asyncio.server.ServerConnection): return t.send(m)",
    "websockets, to all": "import websockets\nwebsockets.broadcast(peers, m)",
    "websockets, to all, imported": """
from websockets.asyncio.server import broadcast
broadcast(peers, m)""",
    "websocket-client": "import websocket\ntable = websocket.create_connection(u)\ntable.send(m)",
    "websocket-client, chained": "import websocket\nwebsocket.create_connection(u).send(m)",
    "websocket-client's app": "import websocket\napp = websocket.WebSocketApp(u)\napp.send(m)",
    "httpx_ws": """
from httpx_ws import aconnect_ws
async def f():
    async with httpx.AsyncClient() as client, aconnect_ws(u, client) as table:
        await table.send_text(m)""",
    "a test client's websocket": "with client.websocket_connect('/') as table: table.send(m)",
    "socketio": "import socketio\nio = socketio.Client()\nio.emit('move', m)",
    "socketio, by name": "await self.sio.emit('move', m)",
    "socketio, awaiting the answer": "import socketio\nio = socketio.SimpleClient()\nio.call('move', m)",
    "flask_socketio": "from flask_socketio import emit\nemit('move', m)",
    "paho": "import paho.mqtt.client as mqtt\nbus = mqtt.Client()\nbus.publish('t', m)",
    "paho at once": "from paho.mqtt import publish\npublish.single('t', m)",
    "aiomqtt": """
async def f():
    async with aiomqtt.Client(h) as bus: await bus.publish('t', m)""",
    "zmq": "import zmq\nout = zmq.Context().socket(zmq.PUSH)\nout.send_multipart(parts)",
}
FOUND = SOCKETS | STREAMS | LIBRARIES


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_a_send_around_the_outbox_is_found_once(source: str) -> None:
    assert [finding.code for finding in check(source)] == ["OUT001"]
