"""What an expression is: a connection, an outbox, something else, or not known."""

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from capture_sdk.lint.scopes import Class, Fact, Named, Scope
from capture_sdk.lint.words import PARTS, WEBSOCKET_MAKERS, Kind, classify, telling

# Calls that give back what they were given, or what it holds.
_PASSERS: Final = frozenset(
    "list tuple set frozenset dict sorted reversed enumerate zip iter next anext filter chain islice "
    "cycle deque WeakSet ref proxy copy deepcopy closing aclosing enter_context enter_async_context wait_for "
    "shield choice partial type TypeVar NewType".split()
)
# Methods that give back what their object holds, or stands for.
_TAKERS: Final = frozenset(
    "get get_nowait pop popleft popitem setdefault values items keys copy fileno dup __enter__ "
    "__aenter__".split()
)


class Kinds:
    """Reads expressions by what has been learnt of the names in them."""

    def __init__(self) -> None:
        self.classes: list[Class] = [
            Class("?")
        ]  # the first takes the attributes of whatever has no known class

    def of(self, node: ast.AST | None, scope: Scope) -> set[Fact]:
        """All that is known of an expression, unread: a name that is not understood is kept as it is."""
        match node:
            case ast.Name(id=name):
                found = scope.find(name)
                return {Named(name)} if found is None else self._told(found, name)
            case ast.Attribute(value=value, attr=name):
                return self._attribute(self.of(value, scope), name)
            case ast.Call():
                return self._call(node, scope)
            case ast.Subscript(value=value, slice=index):
                found = self.of(value, scope)
                holds_types = Kind.DOOR not in self._read(found) and any(isinstance(f, Named) for f in found)
                return found | self.of(index, scope) if holds_types else found
        return {fact for part in _parts(node) for fact in self.of(part, scope)}

    def annotated(self, node: ast.expr | None, scope: Scope) -> set[Fact]:
        """What an annotation promises. A callable is no connection, whatever it takes."""
        match node:
            case ast.Constant(value=str(text)):
                try:
                    return self.annotated(ast.parse(text, mode="eval").body, scope)
                except SyntaxError:
                    return set()
            case ast.Subscript(value=value, slice=index):
                outer = self.annotated(value, scope)
                if any(isinstance(fact, Named) and fact.last == "Callable" for fact in outer):
                    return set()
                return outer if Kind.DOOR in self._read(outer) else outer | self.annotated(index, scope)
            case ast.Name() | ast.Attribute():
                return self.of(node, scope)
        return {fact for part in _parts(node) for fact in self.annotated(part, scope)}

    def kept(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        """The facts to remember of a name: kinds, and such names as tell something by themselves.

        Not the dotted names as they are: those would grow and multiply with every reading.
        """
        for fact in facts:
            if not isinstance(fact, Named):
                yield fact
            elif kind := classify(fact.path):
                yield kind
            elif telling(fact.last, is_object=False):
                yield Named(f"?.{fact.last}")

    def verdict(self, facts: Iterable[Fact]) -> Kind | None:
        """The kind that a message would leave by; what is known outweighs what a name only sounds like."""
        facts = set(facts)
        kinds = set(self._read(facts))
        for kind in (Kind.CONNECTION, Kind.DOOR, Kind.OTHER):
            if kind in kinds:
                return kind
        is_object = Kind.OBJECT in kinds
        told = {telling(fact.last, is_object=is_object) for fact in facts if isinstance(fact, Named)}
        return next((kind for kind in (Kind.CONNECTION, Kind.DOOR) if kind in told), None)

    def defines(self, facts: Iterable[Fact], method: str) -> bool:
        """Whether it is a class of this module with this method, whose body is read in its own place."""
        return any(
            method in cls.methods for fact in facts if isinstance(fact, Class) for cls in _lineage(fact)
        )

    def _read(self, facts: Iterable[Fact]) -> Iterator[Kind]:
        for fact in facts:
            match fact:
                case Named(path=path):
                    if kind := classify(path):
                        yield kind
                case Class():
                    for cls in _lineage(fact):
                        yield from self._read(base for base in cls.bases if not isinstance(base, Class))
                        yield from [Kind.DOOR] if cls.name in ("Outbox", "AsyncOutbox") else []
                case Kind():
                    yield fact

    def _told(self, facts: set[Fact], name: str) -> set[Fact]:
        """A name speaks for itself when nothing else does."""
        is_known = self.verdict(facts) or any(isinstance(fact, Class) for fact in facts)
        return facts if is_known else facts | {Named(f"?.{name}")}

    def _attribute(self, owner: set[Fact], name: str) -> set[Fact]:
        found: set[Fact] = set()
        for fact in owner:
            if isinstance(fact, Named):
                found.add(fact.attribute(name))
            elif isinstance(fact, Class):
                found.update(*(cls.attributes.get(name, ()) for cls in _lineage(fact)))
        kind = self.verdict(fact for fact in owner if not isinstance(fact, Named))
        is_part = kind is Kind.CONNECTION and name in PARTS
        if kind and (is_part or (kind is Kind.OTHER and name not in WEBSOCKET_MAKERS)):
            found.add(kind)
        if self.verdict(found) is None:
            found.update(*(cls.attributes.get(name, ()) for cls in self.classes))
        return self._told(found, name)

    def _call(self, node: ast.Call, scope: Scope) -> set[Fact]:
        name = last(node.func)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if name == "cast" and node.args:
            return self.annotated(node.args[0], scope)
        if name == "super" and (cls := scope.enclosing_class()):
            return cls.bases
        if name in _PASSERS:
            return {fact for each in given for fact in self.of(each, scope)}
        if name in _TAKERS and isinstance(node.func, ast.Attribute):
            return self.of(node.func.value, scope)
        made = self.of(node.func, scope)
        held = self.of(node.args[0], scope) if name in ("open", "fdopen") and node.args else ()
        if self.verdict(held) is Kind.CONNECTION:
            return {Kind.CONNECTION}  # a file over the descriptor of a socket
        return {*self._read(made), *(fact for fact in made if isinstance(fact, Class))}


def last(node: ast.AST) -> str:
    """The last name of a dotted one; nothing of what has none."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return last(value)
    return ""


def _parts(node: ast.AST | None) -> list[ast.expr | None]:
    """The expressions whose kinds a compound one takes."""
    match node:
        case ast.Await(value=value) | ast.Starred(value=value) | ast.NamedExpr(value=value):
            return [value]
        case (
            ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values) | ast.Set(elts=values)
        ):
            return [*values]
        case ast.IfExp(body=one, orelse=two) | ast.DictComp(key=one, value=two):
            return [one, two]
        case ast.BinOp():
            return _operands(node)
        case ast.ListComp(elt=value) | ast.SetComp(elt=value) | ast.GeneratorExp(elt=value):
            return [value]
        case ast.Dict(keys=keys, values=values):
            return [*keys, *values]
    return []


def _operands(node: ast.expr) -> list[ast.expr | None]:
    """What a long sum is made of, without a recursion for each sign."""
    found: list[ast.expr | None] = []
    while isinstance(node, ast.BinOp):
        found.append(node.right)
        node = node.left
    return [*found, node]


def _lineage(cls: Class, seen: frozenset[Class] = frozenset()) -> Iterator[Class]:
    if cls not in seen:
        yield cls
        for base in cls.bases:
            if isinstance(base, Class):
                yield from _lineage(base, seen | {cls})
