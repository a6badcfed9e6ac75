"""Reads a module for what its names are."""

import ast
from collections.abc import Iterable
from typing import Final

from capture_sdk.lint.kinds import Kinds, last
from capture_sdk.lint.scopes import Class, Fact, Function, Named, Scope, walk
from capture_sdk.lint.words import Kind

# What is put into a container, the container becomes.
_ADDERS: Final = frozenset("append appendleft add insert put put_nowait extend update setdefault".split())
# These call what they are given with a connection; what is decorated with the second is called so too.
_SERVERS: Final = frozenset("serve unix_serve start_server start_unix_server WebSocketApp".split())
_ROUTES: Final = frozenset("websocket websocket_route".split())
# A name may be told by another that is told further down: each reading carries that one step on.
_READINGS: Final = 8


class Module:
    """One module, read: every node with its scope, and the kinds of its expressions."""

    def __init__(self, tree: ast.Module) -> None:
        self.kinds = Kinds()
        self.nodes = list(walk(tree, Scope()))
        self.functions: dict[str, list[tuple[Function, Scope]]] = {}
        self._gather()
        for _ in range(_READINGS):
            before = self._size()
            for node, scope in self.nodes:
                self._learn(node, scope)
            if self._size() == before:
                break

    def _gather(self) -> None:
        """Classes and functions first: they are used above the place where they stand."""
        self._scopes = list({id(scope): scope for _, scope in self.nodes}.values())
        for scope in self._scopes:
            if scope.cls:
                self.kinds.classes.append(scope.cls)
            if function := scope.function:
                self.functions.setdefault(function.name, []).append((function, scope))
                if scope.parent and scope.parent.cls:
                    scope.parent.cls.methods.add(function.name)

    def _size(self) -> int:
        every = [scope.names for scope in self._scopes] + [cls.attributes for cls in self.kinds.classes]
        return sum(len(names) + sum(map(len, names.values())) for names in every)

    def _of(self, node: ast.AST | None, scope: Scope) -> set[Fact]:
        return set(self.kinds.kept(self.kinds.of(node, scope)))

    def _learn(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                _learn_import(node, scope)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                scope.outer.update(names)
            case ast.ClassDef():
                self._learn_class(node, scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._learn_function(node, scope)
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                self._learn_result(self._of(value, scope), scope)
            case ast.Call():
                self._learn_call(node, scope)
            case ast.Match():
                self._learn_match(node, scope)
            case ast.arg(arg=name, annotation=annotation):
                scope.add(name, self.kinds.annotated(annotation, scope))
            case _:
                self._learn_binding(node, scope)

    def _learn_binding(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                if isinstance(value, ast.Yield):  # a generator that is sent to
                    self._learn_result({Kind.OTHER}, scope)
                for target in targets:
                    self._assign(target, value, scope)
            case ast.NamedExpr(target=target, value=value) | ast.AugAssign(target=target, value=value):
                self._assign(target, value, scope)
            case ast.AnnAssign(target=target, annotation=annotation, value=given):
                if last(annotation) == "TypeAlias":
                    annotation = given or annotation
                self._bind(target, self.kinds.annotated(annotation, scope) | self._of(given, scope), scope)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._assign(target, value, scope)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._assign(node.target, node.iter, scope)

    def _assign(self, target: ast.expr, value: ast.expr, scope: Scope) -> None:
        match target, value:
            case (ast.Tuple(elts=targets), ast.Tuple(elts=values)) if len(targets) == len(values):
                for each, its_value in zip(targets, values, strict=True):
                    self._assign(each, its_value, scope)
            case _:
                self._bind(target, self._of(value, scope), scope)

    def _bind(self, target: ast.expr, facts: set[Fact], scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.add(name, facts)
            case ast.Attribute(value=owner, attr=name):
                owners = [fact for fact in self._of(owner, scope) if isinstance(fact, Class)]
                for cls in owners or self.kinds.classes[:1]:
                    cls.attributes.setdefault(name, set()).update(facts)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for each in targets:
                    self._bind(each, facts, scope)
            case ast.Starred(value=inner):
                self._bind(inner, facts, scope)
            case ast.Subscript(value=container, slice=key):
                self._put(container, facts | self._of(key, scope), scope)

    def _put(self, target: ast.expr, facts: set[Fact], scope: Scope) -> None:
        """Tell something of what is already there: a name stays in its own scope."""
        found = scope.find(target.id) if isinstance(target, ast.Name) else None
        if found is None:
            self._bind(target, facts, scope)
        else:
            found.update(facts)

    def _learn_class(self, node: ast.ClassDef, scope: Scope) -> None:
        for cls in scope.names.get(node.name, ()):
            if isinstance(cls, Class):
                cls.bases |= {fact for base in node.bases for fact in self._of(base, scope)} - {cls}
                if any(last(base) == "Protocol" for base in node.bases):
                    cls.methods.clear()  # it says what others do

    def _learn_function(self, node: Function, scope: Scope) -> None:
        scope.add(node.name, self.kinds.annotated(node.returns, scope))
        inner = next(inner for function, inner in self.functions[node.name] if function is node)
        decorators = {last(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list}
        if decorators & _ROUTES or node.name == "connection_made":
            _tell_parameters(node, inner)
        if any(self.kinds.verdict(self.kinds.of(each, scope)) is Kind.DOOR for each in node.decorator_list):
            scope.add(node.name, [Kind.DOOR])
        parameters = [*node.args.posonlyargs, *node.args.args]
        if scope.cls and parameters and "staticmethod" not in decorators:
            inner.add(parameters[0].arg, [scope.cls])

    def _learn_result(self, facts: set[Fact], scope: Scope) -> None:
        if scope.function and scope.parent:
            scope.parent.add(scope.function.name, facts)

    def _learn_call(self, node: ast.Call, scope: Scope) -> None:
        name, values = last(node.func), [*node.args, *(keyword.value for keyword in node.keywords)]
        if name == "isinstance" and len(node.args) == 2:
            tested = self._of(node.args[1], scope)
            if self.kinds.verdict(tested) is Kind.CONNECTION:
                self._put(node.args[0], tested, scope)
        elif name in _ADDERS and isinstance(node.func, ast.Attribute):
            self._put(node.func.value, {fact for each in values for fact in self._of(each, scope)}, scope)
        elif name in _SERVERS:
            for part in (part for each in values for part in ast.walk(each)):
                for function, inner in self.functions.get(last(part), []):
                    _tell_parameters(function, inner)
        self._learn_arguments(node, scope)

    def _learn_arguments(self, node: ast.Call, scope: Scope) -> None:
        """What a function of this module is called with, its parameters are."""
        classes = [fact for fact in self._of(node.func, scope) if isinstance(fact, Class)]
        name = "__init__" if classes else last(node.func)
        for function, inner in self.functions.get(name, []):
            owner = inner.parent.cls if inner.parent else None
            if (owner in classes) if classes else (bool(owner) == isinstance(node.func, ast.Attribute)):
                parameters = [each.arg for each in [*function.args.posonlyargs, *function.args.args]]
                for parameter, value in zip(parameters[1 if owner else 0 :], node.args, strict=False):
                    inner.add(parameter, self._of(value, scope))
                for keyword in node.keywords:
                    if keyword.arg in inner.names:
                        inner.add(keyword.arg, self._of(keyword.value, scope))

    def _learn_match(self, node: ast.Match, scope: Scope) -> None:
        subject = self._of(node.subject, scope)
        for pattern in (each for case in node.cases for each in ast.walk(case.pattern)):
            match pattern:
                case ast.MatchAs(pattern=ast.MatchClass(cls=cls), name=str(name)):
                    scope.add(name, self._of(cls, scope))
                case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    scope.add(name, subject)


def _learn_import(node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    for alias in node.names:
        if isinstance(node, ast.Import):
            head = alias.name.partition(".")[0]
            scope.add(alias.asname or head, [Named(alias.name if alias.asname else head)])
        else:
            scope.add(alias.asname or alias.name, [Named(f"{node.module or '?'}.{alias.name}")])


def _tell_parameters(function: Function, inner: Scope) -> None:
    arguments: Iterable[ast.arg] = [*function.args.posonlyargs, *function.args.args]
    for each in arguments:
        if each.annotation is None and each.arg not in ("self", "cls"):
            inner.add(each.arg, [Kind.CONNECTION])
