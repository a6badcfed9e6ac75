"""What a context builder is called with is what the agent knew: bound by signature, frozen at the call."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from capture_sdk.turns import current_turn

Params = ParamSpec("Params")
Result = TypeVar("Result")

_OWN: Final = ("self", "cls")


def knowledge(builder: Callable[Params, Result]) -> Callable[Params, Result]:
    """Record what a context builder is called with as the open turn's knowledge.

    Arguments are bound by signature and frozen before the builder runs, so a memory source added to it
    later lands in the trace by itself. ``self`` and ``cls`` are left out. Outside a turn it does nothing.
    """
    bind = binder(inspect.signature(builder))

    def note(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        turn = current_turn()
        if turn is None:
            return
        items = bind(args, kwargs)
        if items is not None:
            turn.knows(**items)

    if inspect.iscoroutinefunction(builder):

        @functools.wraps(builder)
        async def asynchronous(*args: Params.args, **kwargs: Params.kwargs) -> Any:
            note(args, kwargs)
            return await builder(*args, **kwargs)

        return asynchronous  # type: ignore[return-value]

    @functools.wraps(builder)
    def synchronous(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        note(args, kwargs)
        return builder(*args, **kwargs)

    return synchronous


Bind = Callable[[tuple[object, ...], dict[str, object]], dict[str, object] | None]


def binder(signature: inspect.Signature) -> Bind:
    """How to name the arguments of a call; None for a call that the builder itself will refuse.

    A call of a plain signature is bound by hand: ``Signature.bind`` alone would cost a turn more than
    everything else that is recorded of it.
    """
    parameters = signature.parameters
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [name for name, each in parameters.items() if each.kind is plain[0]]
    defaults = {name: each.default for name, each in parameters.items() if each.default is not each.empty}
    everything = parameters.keys()
    ordered = [name for name in parameters if name not in _OWN]
    is_plain = all(each.kind in plain for each in parameters.values())

    def bind(args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object] | None:
        if not is_plain or len(args) > len(names):
            return slowly(args, kwargs)
        items = defaults | dict(zip(names, args, strict=False)) | kwargs
        if items.keys() != everything:
            return slowly(args, kwargs)
        return {name: items[name] for name in ordered}

    def slowly(args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object] | None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return None  # the call is wrong, and the builder will say so itself
        bound.apply_defaults()
        return {name: item for name, item in bound.arguments.items() if name not in _OWN}

    return bind
