"""Finds messages that are sent around the outbox, the one door out of a seat.

    python -m capture_sdk.lint PATH…      exit status 0 clean, 1 findings, 2 a file could not be read

    OUT001  a send that goes round the outbox
    OUT002  an allowance without a reason
    OUT003  an allowance that allows nothing

What is allowed on purpose carries a comment, on the line of the call or on the one above it:
``# outbox: allowed because <reason>``. It reads source, it does not run it: a send that is reached by a name
made at run time escapes it. Calls on an outbox, on a generator and on HTTP clients are left alone.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# These names mean a message on any receiver.
_ALWAYS: Final = frozenset(
    "sendall sendto sendmsg sendfile send_str send_bytes send_json send_text send_message".split()
)
# These mean one when the receiver is a connection.
_ON_CONNECTION: Final = frozenset("send write writelines".split())
_CONNECTION_NAME: Final = re.compile(
    r"(^|_)(sock|socket|ws|websocket|conn|connection|writer|transport)$", re.I
)
_CONNECTION_MAKER: Final = frozenset(
    "socket create_connection open_connection open_unix_connection ws_connect connect accept makefile".split()
)
_CONNECTION_TYPE: Final = frozenset(
    "socket WebSocket WebSocketServerProtocol WebSocketClientProtocol ClientConnection ServerConnection "
    "ClientWebSocketResponse WebSocketResponse StreamWriter WriteTransport".split()
)
_DOOR: Final = frozenset({"Outbox", "AsyncOutbox"})
_ALLOWANCE: Final = re.compile(r"#\s*outbox:\s*allowed because\b[ \t:]*(.*)$")
_SKIPPED: Final = frozenset(
    {".venv", "venv", "build", "dist", "node_modules", "__pycache__", "site-packages"}
)


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


def check(source: str, path: str = "<source>") -> list[Finding]:
    """The findings of one file's source, by place. Raises UnreadableSource when it does not parse."""
    try:
        tree = ast.parse(source)
        allowances = _allowances(source)
    except (SyntaxError, ValueError, RecursionError, tokenize.TokenError) as exc:
        raise UnreadableSource(f"{path}:{getattr(exc, 'lineno', None) or 1}: {exc}") from exc
    module = _Module(tree)
    used: set[int] = set()
    found = []
    for node, last, message in module.sends():
        allowed = next((line for line in range(node.lineno - 1, last + 1) if allowances.get(line)), None)
        if allowed is None:
            found.append(Finding(path, node.lineno, node.col_offset + 1, "OUT001", message))
        else:
            used.add(allowed)
    for line, reason in allowances.items():
        if not reason:
            found.append(Finding(path, line, 1, "OUT002", "say why: # outbox: allowed because <reason>"))
        elif line not in used:
            found.append(Finding(path, line, 1, "OUT003", "this allowance allows nothing: remove it"))
    return sorted(found)


class _Module:
    """What one module says about which names are connections and which are doors."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._connections: set[str] = set()
        self._doors: set[str] = set()
        self._in_doors: set[int] = set()
        for node in ast.walk(tree):
            self._learn(node)

    def sends(self) -> Iterator[tuple[ast.expr, int, str]]:
        """Every send, called or handed on as a value, that is not the making of a door.

        Each comes with the last line of its call, where a comment about it may stand.
        """
        called = {id(node.func): _end(node) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Attribute) and id(node) not in self._in_doors and self._is_send(node):
                how = "is called" if id(node) in called else "is handed on"
                message = f"{_name(node)} {how} outside of the outbox: send through Outbox.send"
                yield node, called.get(id(node), _end(node)), message
            elif isinstance(node, ast.Call) and self._is_disguised(node):
                yield node, _end(node), f"{_name(node.func)} reaches a connection outside of the outbox"

    def _learn(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case (
                ast.NamedExpr(target=target, value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                self._bind(target, value)
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, item.context_expr)
            case ast.Call(func=func, args=args) if _last(func) in _DOOR:
                self._in_doors |= {id(arg) for arg in args}
        match node:
            case ast.AnnAssign(target=target, annotation=annotation):
                self._annotate(_name(target), annotation)
            case ast.arg(arg=name, annotation=ast.expr() as annotation):
                self._annotate(name, annotation)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        """A name takes what its value makes: a connection, a door, or (of a pair) a stream's writer."""
        value = value.value if isinstance(value, ast.Await) else value
        maker = _last(value.func) if isinstance(value, ast.Call) else None
        if isinstance(target, ast.Tuple | ast.List):
            if maker in _CONNECTION_MAKER:
                self._connections |= {_name(each) for each in target.elts}
        elif maker in _DOOR:
            self._doors.add(_name(target))
        elif maker in _CONNECTION_MAKER and not self._is_database(value):
            self._connections.add(_name(target))

    def _is_database(self, value: ast.expr) -> bool:
        """``connect`` of a database library opens no conversation with a table."""
        return (
            isinstance(value, ast.Call)
            and re.search(r"psycopg|sqlite|django|redis", _name(value.func)) is not None
        )

    def _annotate(self, name: str, annotation: ast.expr) -> None:
        words = set(re.findall(r"\w+", ast.unparse(annotation)))
        if words & _DOOR:
            self._doors.add(name)
        elif words & _CONNECTION_TYPE and "Callable" not in words:
            self._connections.add(name)

    def _is_send(self, node: ast.Attribute) -> bool:
        receiver = _name(node.value)
        if receiver in self._doors or _last(node.value) in ("outbox", "_outbox"):
            return False
        if node.attr in _ALWAYS:
            return True
        if node.attr not in _ON_CONNECTION:
            return False
        made_here = isinstance(node.value, ast.Call) and _last(node.value.func) in _CONNECTION_MAKER
        return made_here or receiver in self._connections or bool(_CONNECTION_NAME.search(_last(node.value)))

    def _is_disguised(self, node: ast.Call) -> bool:
        """``getattr(sock, "send")`` and ``os.write(sock.fileno(), …)``."""
        name = _name(node.func)
        if name == "getattr" and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
            attribute = node.args[1].value
            if isinstance(attribute, str):
                return self._is_send(ast.Attribute(node.args[0], attribute))
        if name in ("os.write", "os.writev", "os.sendfile") and node.args:
            target = node.args[0]
            return isinstance(target, ast.Call) and _last(target.func) == "fileno"
        return False


def _name(node: ast.expr) -> str:
    """The dotted name of an expression, with ``?`` for what has none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return f"{_name(node.func)}()" if isinstance(node, ast.Call) else "?"


def _last(node: ast.expr) -> str:
    return _name(node).rpartition(".")[2]


def _allowances(source: str) -> dict[int, str]:
    """Line of each allowance, with its reason. Comments only: a string that looks like one is none."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and (match := _ALLOWANCE.search(token.string)):
            found[token.start[0]] = match[1].strip()
    return found


def _end(node: ast.expr) -> int:
    return node.end_lineno or node.lineno


def _sources(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.rglob("*.py")):
            inner = file.relative_to(path).parts[:-1]
            if not any(part in _SKIPPED or part.startswith(".") for part in inner):
                yield file


def main(arguments: Sequence[str] | None = None) -> int:
    """Check files and folders, print what is found, and return the exit status."""
    parser = argparse.ArgumentParser(prog="capture-outbox-lint", description="Finds sends around the outbox.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, or a folder to walk")
    unreadable = findings = 0
    for path in _sources(parser.parse_args(arguments).paths):
        try:
            with tokenize.open(path) as file:
                found = check(file.read(), str(path))
        except (UnreadableSource, OSError, SyntaxError, UnicodeDecodeError) as exc:
            unreadable += 1
            sys.stderr.write(f"{exc if isinstance(exc, UnreadableSource) else f'{path}: {exc}'}\n")
            continue
        findings += len(found)
        sys.stdout.writelines(f"{each}\n" for each in found)
    return 2 if unreadable else 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
