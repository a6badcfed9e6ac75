"""Every send of a module that is not the making of an outbox."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from capture_sdk.lint.kinds import last
from capture_sdk.lint.learning import Module
from capture_sdk.lint.scopes import Named, Scope
from capture_sdk.lint.words import ALWAYS, METHODS, Kind, classify
from capture_sdk.lint.wrapping import Wrapping


@dataclass(frozen=True, slots=True)
class Send:
    """One send, called or handed on, with the lines where a comment about it may stand."""

    line: int
    column: int
    last_line: int
    message: str
    is_wrapped: bool  # inside of what an outbox calls to send


def sends(tree: ast.Module) -> Iterator[Send]:
    """The sends, whoever allows them; what is handed to an outbox in its making is none."""
    module = Module(tree)
    wrapping = Wrapping(module)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node, scope in module.nodes:
        if isinstance(node, ast.expr) and node not in wrapping.given:
            parent = parents[node]
            call = parent if isinstance(parent, ast.Call) and parent.func is node else None
            if message := _message(module, node, scope, parent, call):
                whole = call or node
                is_wrapped = node in wrapping.inside
                end = whole.end_lineno or whole.lineno
                yield Send(node.lineno, node.col_offset + 1, end, message, is_wrapped)


def _message(
    module: Module, node: ast.expr, scope: Scope, parent: ast.AST, call: ast.Call | None
) -> str | None:
    how = "is called" if call else "is handed on"
    # What is read of a method is a question about it (a mock's memory), not a send.
    is_read = isinstance(parent, ast.Attribute) and parent.attr != "__call__"
    match node:
        case ast.Attribute(value=receiver, attr=method, ctx=ast.Load()):
            if not is_read and not _is_signal(call) and _is_send(module, receiver, method, scope):
                return f"{_name(node)} {how} outside of the outbox: send through Outbox.send"
        case ast.Name(ctx=ast.Load()) if not is_read and any(map(_is_function, module.kinds.of(node, scope))):
            return f"{_name(node)} {how} outside of the outbox: send through Outbox.send"
        case ast.Call() if _is_disguised(module, node, scope):
            return f"{_name(node.func)} reaches a connection outside of the outbox"
    return None


def _is_send(module: Module, receiver: ast.expr, method: str, scope: Scope) -> bool:
    facts = module.kinds.of(receiver, scope)
    kind = module.kinds.verdict(facts)
    if kind is Kind.DOOR:
        return method == "_send" and not (isinstance(receiver, ast.Name) and receiver.id == "self")
    if module.kinds.defines(facts, method) or kind is Kind.OTHER:
        return False
    return method in (METHODS if kind is Kind.CONNECTION else ALWAYS)


def _is_signal(call: ast.Call | None) -> bool:
    """``send(sender=…)`` of a signal, and the ``send(None)`` that starts a generator."""
    match call:
        case ast.Call(args=[ast.Constant(value=None)], keywords=[]):
            return True
        case ast.Call(keywords=keywords):
            return any(keyword.arg == "sender" for keyword in keywords)
    return False


def _is_function(fact: object) -> bool:
    """A function of a library of connections that sends, by an import of its own."""
    return isinstance(fact, Named) and fact.last in METHODS and classify(fact.path) is Kind.CONNECTION


def _is_disguised(module: Module, node: ast.Call, scope: Scope) -> bool:
    """A send whose name stands in a string, and one by the descriptor of a socket."""
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[receiver, ast.Constant(value=str(method)), *_]):
            return _is_send(module, receiver, method, scope)
        case ast.Call(
            func=ast.Call(args=[ast.Constant(value=str(method)), *_]) as maker, args=[receiver, *_]
        ):
            names = {fact.last for fact in module.kinds.of(maker.func, scope) if isinstance(fact, Named)}
            is_late = bool(names & {"methodcaller", "attrgetter"})
            return is_late and _is_send(module, receiver, method, scope)
        case ast.Call(args=[ast.Dict(values=values), *_]):
            return any(isinstance(each, ast.Constant) and each.value == "websocket.send" for each in values)
        case ast.Call(args=[descriptor, *_]):
            written = {Named("os.write"), Named("os.writev"), Named("os.sendfile")}
            kind = module.kinds.verdict(module.kinds.of(descriptor, scope))
            is_descriptor = isinstance(descriptor, ast.Call) and last(descriptor.func) == "fileno"
            is_way_out = kind is Kind.CONNECTION or (is_descriptor and kind is not Kind.OTHER)
            return is_way_out and bool(written & module.kinds.of(node.func, scope))
    return False


def _name(node: ast.expr) -> str:
    """The dotted name of an expression, with ``?`` for what has none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return f"{_name(node.func)}()" if isinstance(node, ast.Call) else "?"
