"""Where a name holds, and what is known of it there."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from capture_sdk.lint.words import Kind


@dataclass(frozen=True, slots=True)
class Named:
    """Whatever a dotted name stands for; ``?`` at its head is an owner that is not known."""

    path: str

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]

    def attribute(self, name: str) -> "Named":
        return Named(f"{self.path}.{name}")


@dataclass(eq=False, slots=True)
class Class:
    """A class of this module, and each object of it."""

    name: str
    attributes: "dict[str, set[Fact]]" = field(default_factory=dict)
    methods: set[str] = field(default_factory=set)
    bases: "set[Fact]" = field(default_factory=set)


Fact: TypeAlias = Kind | Named | Class
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False, slots=True)
class Scope:
    """The names of a module, a class or a function."""

    parent: "Scope | None" = None
    names: dict[str, set[Fact]] = field(default_factory=dict)
    cls: Class | None = None
    function: Function | None = None
    outer: set[str] = field(default_factory=set)  # declared global or nonlocal

    def add(self, name: str, facts: Iterable[Fact]) -> None:
        """Bind a name here, to this among others."""
        if name in self.outer and self.parent:
            self.parent.add(name, facts)
        else:
            self.names.setdefault(name, set()).update(facts)

    def find(self, name: str) -> set[Fact] | None:
        """What is known of a name; None when it is bound nowhere (a builtin, or an import elsewhere)."""
        scope: Scope | None = self
        while scope:
            # A method does not see the names of the class it stands in.
            if name in scope.names and name not in scope.outer and (scope.cls is None or scope is self):
                return scope.names[name]
            scope = scope.parent
        return None

    def enclosing_class(self) -> Class | None:
        """The class whose method this is, or is inside of."""
        scope: Scope | None = self
        while scope and scope.cls is None:
            scope = scope.parent
        return scope.cls if scope else None


def walk(tree: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """Every node, in the order of the source, with the scope it stands in."""
    waiting = [(tree, scope)]  # no recursion: generated source nests deeper than the interpreter allows
    while waiting:
        node, scope = waiting.pop()
        yield node, scope
        inner = _inside(node, scope)
        waiting += reversed([(child, inner) for child in ast.iter_child_nodes(node)])


def _inside(node: ast.AST, scope: Scope) -> Scope:
    match node:
        case ast.ClassDef(name=name):
            made = Class(name)
            scope.add(name, [made])
            return Scope(scope, names=made.attributes, cls=made)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return Scope(scope, function=node)
        case ast.Lambda():
            return Scope(scope)
    return scope
