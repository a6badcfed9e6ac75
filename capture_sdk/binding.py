"""What a context builder is called with is what the agent knew: bound by signature, frozen at the call."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from capture_sdk.turns import current_turn

Params = ParamSpec("Params")
Result = TypeVar("Result")


def knowledge(builder: Callable[Params, Result]) -> Callable[Params, Result]:
    """Record what a context builder is called with as the open turn's knowledge.

    Arguments are bound by signature and frozen before the builder runs, so a memory source added to it
    later lands in the trace by itself. ``self`` and ``cls`` are left out. Outside a turn it does nothing.
    """
    signature = inspect.signature(builder)

    def note(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        turn = current_turn()
        if turn is None:
            return
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return  # the call is wrong, and the builder will say so itself
        bound.apply_defaults()
        turn.knows(**{name: item for name, item in bound.arguments.items() if name not in ("self", "cls")})

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
