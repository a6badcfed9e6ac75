"""Generators within a scope: it is open while the generator runs, and closed to whoever steps it in between."""

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from capture_sdk.runs.steps import Within
from capture_sdk.scopes import latest_run

Params = ParamSpec("Params")
Result = TypeVar("Result")
Begin = Callable[[tuple[Any, ...], dict[str, Any]], Within]


def is_driven(function: object) -> bool:
    """Whether it is a generator function, of either kind."""
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def driven(function: Callable[Params, Result], begin: Begin) -> Callable[Params, Result]:
    """``function``, a generator function of either kind, each call of which runs in a scope of its own."""
    generator: Any = function
    drive = _asynchronously if inspect.isasyncgenfunction(function) else _synchronously
    wrapped: Any = functools.wraps(function)(drive(generator, begin))
    return wrapped  # type: ignore[no-any-return]


def _synchronously(function: Any, begin: Begin) -> Callable[..., Any]:
    def synchronous(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        steps = function(*args, **kwargs)
        step = functools.partial(next, steps)
        with begin(args, kwargs) as scope:
            latest_run.set(scope.outer)  # each step, in whatever thread it is taken, opens it for itself
            while True:
                with _stepped(scope):
                    try:
                        given = step()
                    except StopIteration as stop:
                        return stop.value
                try:
                    answer = yield given
                except GeneratorExit:
                    with _stepped(scope):
                        steps.close()
                    raise
                except BaseException as exc:  # noqa: BLE001 - thrown in, and the generator's own to deal with
                    step = functools.partial(steps.throw, exc)
                else:
                    step = functools.partial(steps.send, answer)

    return synchronous


def _asynchronously(function: Any, begin: Begin) -> Callable[..., Any]:
    async def asynchronous(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        steps = function(*args, **kwargs)
        step = functools.partial(anext, steps)
        with begin(args, kwargs) as scope:
            latest_run.set(scope.outer)
            while True:
                with _stepped(scope):
                    try:
                        given = await step()
                    except StopAsyncIteration:
                        return
                try:
                    answer = yield given
                except GeneratorExit:
                    with _stepped(scope):
                        await steps.aclose()
                    raise
                except BaseException as exc:  # noqa: BLE001 - as above
                    step = functools.partial(steps.athrow, exc)
                else:
                    step = functools.partial(steps.asend, answer)

    return asynchronous


@contextmanager
def _stepped(scope: Within) -> Iterator[None]:
    around = latest_run.get()
    latest_run.set(scope)
    try:
        yield
    finally:
        latest_run.set(around)
