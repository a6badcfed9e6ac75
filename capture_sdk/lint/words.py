"""What the usual libraries call their connections and their ways to send, and what only sounds like them."""

import re
from enum import Enum
from functools import cache
from typing import Final


class Kind(Enum):
    """What an expression is, as far as a message could leave by it. A container is what it holds."""

    CONNECTION = "a connection"
    DOOR = "an outbox"
    OTHER = "known, and no way to a table: a file, a database, an HTTP client, a mock"
    OBJECT = "made of a class that is not known"


# These mean a message on whatever is not known to be something else.
ALWAYS: Final = frozenset(
    "sendall send_all sendto sendmsg sendfile sock_sendall sock_sendto sock_sendfile send_str send_bytes "
    "send_json send_text send_frame send_binary send_multipart sendMessage write_message".split()
)
# These mean one when the receiver is a connection, or a library of connections.
ON_CONNECTION: Final = frozenset(
    "send write writelines emit call publish broadcast send_message send_string send_pyobj send_data "
    "send_fds sendLine writeSequence single multiple".split()
)
METHODS: Final = ALWAYS | ON_CONNECTION
# These attributes of a connection, or of the handler of one, are connections.
PARTS: Final = frozenset("wfile request __class__".split())

# What a websocket is made by, even on an HTTP client.
WEBSOCKET_MAKERS: Final = frozenset("ws_connect websocket_connect connect_ws aconnect_ws".split())
_CONNECTION_MAKERS: Final = WEBSOCKET_MAKERS | frozenset(
    "socket create_connection create_unix_connection create_datagram_endpoint open_connection "
    "open_unix_connection connect connect_tcp connect_unix open_tcp_stream open_ssl_over_tcp_stream accept "
    "makefile wrap_socket socketpair fromfd".split()
)
_CONNECTION_TYPES: Final = frozenset(
    "SocketType SSLSocket SSLObject SSLStream SocketStream SocketIO ClientConnection ServerConnection "
    "StreamWriter WriteTransport DatagramTransport StreamRequestHandler BaseRequestHandler "
    "DatagramRequestHandler".split()
)
_CONNECTION_LIBRARIES: Final = frozenset(
    "websockets websocket socketio flask_socketio simple_websocket trio_websocket picows autobahn "
    "httpx_ws paho aiomqtt asyncio_mqtt gmqtt zmq".split()
)
_OTHER_LIBRARIES: Final = frozenset(
    "sys os io codecs csv gzip bz2 lzma zipfile tarfile tempfile shutil pathlib logging multiprocessing "
    "http httpx requests urllib urllib3 boto boto3 botocore aiobotocore smtplib email django blinker "
    "unittest mock sqlite3 aiosqlite psycopg psycopg2 psycopg_pool asyncpg pymysql MySQLdb mysql aiomysql "
    "oracledb pyodbc duckdb sqlalchemy redis aioredis valkey pymongo motor".split()
)
_OTHERS: Final = frozenset(
    "open NamedTemporaryFile TemporaryFile StringIO BytesIO TextIO BinaryIO IO TextIOBase TextIOWrapper "
    "BufferedWriter Generator AsyncGenerator Mock MagicMock AsyncMock NonCallableMock create_autospec "
    "BaseHTTPRequestHandler SimpleHTTPRequestHandler HTTPConnection HTTPSConnection SMTP SMTP_SSL "
    "Pipe".split()
)
_DOORS: Final = frozenset({"Outbox", "AsyncOutbox"})
# Classes that only stand around others: they say nothing of what they hold.
_SHELLS: Final = frozenset(
    "Any Optional Union Annotated Final ClassVar Self List Dict Set Tuple Sequence Iterable Iterator Mapping "
    "Protocol Generic ABC Awaitable".split()
)

_TELLS_DOOR: Final = re.compile(r"(^|_)outbox(es)?$", re.I)
_TELLS_CONNECTION: Final = re.compile(
    r"(^|_)(w?socks?|sockets?|ws|wsapp|websockets?|conns?|connections?|transports?|writers?|sio|socketio|wfile)_?\d*$"
    r"|(^|_)(ws|websocket|socket)_(client|app|stream|peer)s?$"
)
_TELLS_OTHER: Final = re.compile(
    r"(^|_)(db|database|sql\w*|pg|postgres|mysql|redis|mail|smtp|http|csv|json|xml|pdf|log|file)_", re.I
)


@cache
def classify(path: str) -> Kind | None:
    """What a dotted name stands for, or makes when it is called; ``?`` at its head is an unknown owner."""
    root, last = path.partition(".")[0], path.rpartition(".")[2]
    if last in _DOORS:
        return Kind.DOOR
    if root in _CONNECTION_LIBRARIES or path.startswith("multiprocessing.connection."):
        return Kind.CONNECTION
    if last in _OTHERS or (root in _OTHER_LIBRARIES and last not in WEBSOCKET_MAKERS):
        return Kind.OTHER
    is_class = last[:1].isupper()
    if last in _CONNECTION_MAKERS | _CONNECTION_TYPES or (is_class and "websocket" in last.lower()):
        return Kind.CONNECTION
    return Kind.OBJECT if is_class and last not in _SHELLS else None


@cache
def telling(name: str, *, is_object: bool) -> Kind | None:
    """What a name alone gives away. Of an object, ``writer`` says nothing: tables and documents have them."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().rstrip("_")
    if _TELLS_DOOR.search(snake):
        return Kind.DOOR
    if is_object and re.search(r"writers?$", snake):
        return None
    is_connection = _TELLS_CONNECTION.search(snake) and not _TELLS_OTHER.search(snake)
    return Kind.CONNECTION if is_connection else None
