"""The real sends that outboxes wrap: handed over in a making, or in a function that serves nothing else."""

import ast
from collections.abc import Iterator

from capture_sdk.lint.kinds import last
from capture_sdk.lint.learning import Module
from capture_sdk.lint.scopes import Scope
from capture_sdk.lint.words import Kind


class Wrapping:
    """``given`` is handed to an outbox; ``inside`` runs only when an outbox calls it."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self.given: set[ast.AST] = set()
        self.inside: set[ast.AST] = set()
        self._uses: dict[tuple[type[ast.AST], str], list[ast.AST]] = {}
        for node, scope in module.nodes:
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                self._uses.setdefault((type(node), last(node)), []).append(node)
            if isinstance(node, ast.Call) and self._makes_a_door(node, scope):
                handed = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "send")]
                self.given.update(part for each in handed for part in _handed_over(each))
            elif any(self._is_door(each, scope) for each in getattr(node, "decorator_list", ())):
                self.inside.update(ast.walk(node))
        while self.given and self._follow():
            pass

    def _makes_a_door(self, node: ast.Call, scope: Scope) -> bool:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
            return self._is_door(node.func.value, scope)
        return self._is_door(node.func, scope)

    def _is_door(self, node: ast.expr, scope: Scope) -> bool:
        kinds = self._module.kinds
        return kinds.verdict(kinds.of(node, scope)) is Kind.DOOR

    def _follow(self) -> bool:
        """Take in what is used for nothing but an outbox; whether that was anything new."""
        before = len(self.inside)
        for node, scope in self._module.nodes:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    is_reachable = not scope.function and not _is_private(name)
                    if not is_reachable and self._is_only_given(name, is_method=scope.cls is not None):
                        self.inside.update(ast.walk(node))
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if scope.function:
                    if self._is_only_given(name, is_method=False):
                        self.inside.update(ast.walk(value))
                case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if _is_private(name):
                    if self._is_only_given(name, is_method=True):
                        self.inside.update(ast.walk(value))
        return len(self.inside) > before

    def _is_only_given(self, name: str, *, is_method: bool) -> bool:
        uses = self._uses.get((ast.Attribute if is_method else ast.Name, name), [])
        return bool(uses) and all(use in self.given or use in self.inside for use in uses)


def _is_private(name: str) -> bool:
    """Whether no other module is to call it: what one does there is not seen."""
    return name.startswith("_") and not name.endswith("__")


def _handed_over(node: ast.AST) -> Iterator[ast.AST]:
    """What of an argument is passed on. A call in it happens now, except in a lambda."""
    if isinstance(node, ast.Lambda):
        yield from ast.walk(node)
        return
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Call) and child is node.func):
            yield from _handed_over(child)
