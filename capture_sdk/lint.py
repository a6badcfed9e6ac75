"""Finds messages that are sent around the outbox, the one door out of a seat.

    python -m capture_sdk.lint PATH…      exit status 0 clean, 1 findings, 2 a file could not be read

    OUT001  a send that goes round the outbox
    OUT002  an allowance without a reason
    OUT003  an allowance that allows nothing

What is allowed on purpose carries a comment, on the line of the call or on the one above it:
``# outbox: allowed because <reason>``. It reads source, it does not run it, one file at a time: what it
follows and what it cannot see is written in ``docs/lint.md``.
"""

import argparse
import ast
import io
import json
import os
import re
import sys
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from pathlib import Path, PurePath
from typing import Final

# These names mean a message on any receiver that is not known to be something else.
_ALWAYS: Final = frozenset(
    "sendall send_all sendto sendmsg sendfile send_fds send_str send_bytes send_json send_text send_message "
    "send_string send_multipart send_pyobj sendMessage write_message "
    "sock_sendall sock_sendto sock_sendfile".split()
)
# These mean one when the receiver is a connection.
_ON_CONNECTION: Final = frozenset("send write writelines emit".split())
_SENDS: Final = _ALWAYS | _ON_CONNECTION

# What a name tells, where the module tells nothing better. A word before it may say that it is no message.
_SAYS_CONNECTION: Final = re.compile(
    r"(?:(?:sock|socket|conn|connection|writer|transport)s?|(?:^|[_\W]|(?<=[a-z0-9])(?=W))ws)_?\d*$", re.I
)
_SAYS_OUTBOX: Final = re.compile(r"(?:^|[a-z_])outbox$", re.I)
_SAYS_OTHER: Final = re.compile(
    r"(?:^|_)(?:redis|valkey|db|database|\w*sql\w*|pg|e?mail\w*|smtp\w*|http|csv|xml|json|zip|log|file)(?:_|$)",
    re.I,
)

_DOORS: Final = frozenset({"Outbox", "AsyncOutbox"})
_CONNECTION_TYPES: Final = re.compile(
    r"socket|SocketType|SSLSocket|Socket|\w*Web[sS]ocket\w*|ClientConnection|ServerConnection|StreamWriter"
    r"|WriteTransport|DatagramTransport|SocketStream|ByteSendStream"
)
_CONNECTION_MAKERS: Final = frozenset(
    "create_connection create_unix_connection create_datagram_endpoint open_connection open_unix_connection "
    "connect_tcp open_tcp_stream ws_connect aconnect_ws connect_ws websocket_connect connect_accepted_socket "
    "makefile wrap_socket socketpair fromfd get_extra_info Pipe".split()
)
# Names too common to mean a connection wherever they come from.
_ROOTED: Final = frozenset(
    "websockets.connect websockets.unix_connect websockets.Connection asyncio.Transport socketio.Client "
    "socketio.AsyncClient multiprocessing.Client multiprocessing.Connection".split()
)
_OTHER_ROOTS: Final = frozenset(
    "aiosmtplib asyncpg bz2 codecs csv django django_redis email gzip http httpx io logging lzma psycopg psycopg2 "
    "pymysql redis requests smtplib sqlite3 tarfile tempfile urllib urllib3 valkey wave zipfile".split()
)
_OTHER_TYPES: Final = frozenset("open TextIO BinaryIO IO Generator AsyncGenerator Signal".split())
# What these give is what they were given, or what their receiver holds.
_PASSING_ON: Final = frozenset(
    "wait_for shield closing aclosing enter_context enter_async_context next anext iter list tuple set sorted "
    "reversed enumerate zip TextIOWrapper BufferedWriter fdopen open".split()
)
_HOLDING: Final = frozenset("accept copy detach dup fileno get items pop popleft result values".split())
_TAKING: Final = frozenset("add append appendleft insert put put_nowait setdefault".split())
_DESCRIPTOR_WRITES: Final = frozenset("os.write os.writev os.pwrite os.sendfile".split())

_ALLOWANCE: Final = re.compile(r"#\s*outbox:\s*allowed\b(?:\s*because\b[\s:]*([^#]*))?")
_SKIPPED: Final = frozenset("venv build dist node_modules __pycache__ site-packages".split())

_Place = tuple[int, int]
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing to mend, with its place (line and column from 1)."""

    path: str
    line: int
    column: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.message}"


class UnreadableSource(Exception):
    """A file that is not Python source; the message says where and why."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.path, self.line, self.reason = path, line, reason


def check(source: str, path: str = "<source>") -> list[Finding]:
    """The findings of one file's source, by place. Raises UnreadableSource when it does not parse."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file's own doubtful escapes are not our business
            tree = ast.parse(source)
        comments = _Comments(source)
        sends = list(_Module(tree).sends())
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError) as exc:
        raise UnreadableSource(path, _line_of(exc, source), _reason(exc)) from exc
    lines = source.split("\n")
    found = [
        Finding(path, node.lineno, _column(lines[node.lineno - 1], node.col_offset), "OUT001", message)
        for node, last, message in sends
        if not comments.allow(node.lineno, last)
    ]
    return sorted({*found, *(Finding(path, *rest) for rest in comments.complaints())})


class _Kind(IntEnum):
    """What an expression is known to be; where a module says two things, the higher one counts."""

    OTHER = 1
    DOOR = 2
    CONNECTION = 3


@dataclass(eq=False, slots=True)
class _Scope:
    """A module, class or function: what its names are bound to, and where. ``None`` is bound to who knows."""

    node: ast.AST
    parent: "_Scope | None" = None
    bound: dict[str, dict[_Place, _Kind | None]] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)  # declared global or nonlocal

    def bind(self, name: str, place: _Place, kind: _Kind | None) -> None:
        if name in self.outer and self.parent is not None:
            self.parent.bind(name, (0, 0), kind)
        else:
            self.bound.setdefault(name, {})[place] = kind

    def strongest(self, name: str) -> _Kind | None:
        return _strongest(self.bound.get(name, {}).values())

    def latest(self, name: str, place: _Place) -> _Kind | None:
        """What the name was last bound to above ``place``; a loop may also bring it round from below."""
        before = [each for each in self.bound[name].items() if each[1] is not None and each[0] < place]
        return max(before)[1] if before else self.strongest(name)

    def enclosing(self) -> "Iterator[_Scope]":
        scope: _Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def owner(self, name: str) -> "_Scope | None":
        """The scope whose name this is; a class lends its names to no function inside it."""
        for scope in self.enclosing():
            if name in scope.bound and (scope is self or not isinstance(scope.node, ast.ClassDef)):
                return scope
        return None

    def own_class(self) -> "_Scope | None":
        return next((each for each in self.enclosing() if isinstance(each.node, ast.ClassDef)), None)


class _Module:
    """What one module says about which names are connections and which are doors."""

    def __init__(self, tree: ast.Module) -> None:
        self._attributes = _Scope(tree)  # of objects that are not ``self``
        self._aliases: dict[str, str] = {}
        self._makers: dict[str, _Kind] = {}  # the module's own functions and classes
        self._in_doors: set[int] = set()
        self._wrapped: set[tuple[int, str]] = set()
        self._nodes = list(_placed(tree, _Scope(tree)))
        self._classes = {
            id(scope): scope for _, scope in self._nodes if isinstance(scope.node, ast.ClassDef)
        }.values()
        self._learn_all()
        for node, scope in self._nodes:
            if isinstance(node, ast.Call) and self._makes_door(node, scope):
                self._exempt(node, scope)

    def sends(self) -> Iterator[tuple[ast.expr, int, str]]:
        """Every send, called or handed on as a value, that is not the making of a door.

        Each comes with the last line of its call, where a comment about it may stand.
        """
        called = {id(node.func): _end(node) for node, _ in self._nodes if isinstance(node, ast.Call)}
        for node, scope in self._nodes:
            if id(node) in self._in_doors or _is_inside_door(scope):
                continue
            if isinstance(node, ast.Attribute) and self._is_send(node, scope):
                last = called.get(id(node))
                how = "is handed on" if last is None else "is called"
                remedy = "give it to Outbox(...)" if last is None else "send through Outbox.send"
                yield node, last or _end(node), f"{_shown(node)} {how} outside of the outbox: {remedy}"
            elif isinstance(node, ast.Call) and (what := self._disguise(node, scope)):
                yield node, _end(node), f"{_shown(node.func)} {what}: send through Outbox.send"

    # Learning: which names are bound to what. Repeated, because a name may be told by one further down.

    def _learn_all(self) -> None:
        for node, _ in self._nodes:
            self._learn_imports(node)
        told: object = None
        for _ in range(12):  # a chain of more names than this is not followed
            before, told = told, None
            for node, scope in self._nodes:
                self._learn(node, scope)
            told = repr([scope.bound for _, scope in self._nodes if scope.bound] and self._told())
            if told == before:
                return

    def _told(self) -> list[object]:
        scopes = {id(scope): scope.bound for _, scope in self._nodes}
        return [*scopes.values(), self._attributes.bound, self._makers, self._aliases]
