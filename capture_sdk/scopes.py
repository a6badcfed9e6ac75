"""What is open in this context: a turn, or a run and what is going on within it.

A scope is carried by a context variable, safe with threads and tasks. Generators share the context of whoever
steps them: where one that was opened in a generator may be meant, the frame that is running decides.
"""

import contextlib
import functools
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

if TYPE_CHECKING:
    from capture_sdk.records import RunKey

Params = ParamSpec("Params")
Result = TypeVar("Result")


class Scope:
    """Something that is opened, is around what happens in it, and is closed."""

    is_open = False
    outer: Any = None  # the one around it, of its own kind
    frame: FrameType | None = None

    def next_open(self) -> Self | None:
        """The nearest scope around this one that is still open."""
        scope: Self | None = self.outer
        while scope is not None and not scope.is_open:
            scope = scope.outer
        return scope

    def carry(self, function: Callable[Params, Result]) -> Callable[Params, Result]:
        """``function``, to be run in another thread as part of what is open here.

        ``asyncio.to_thread`` carries it along by itself; a bare executor or thread does not.
        """
        context = copy_context()

        @functools.wraps(function)
        def carried(*args: Params.args, **kwargs: Params.kwargs) -> Result:
            # A context is entered by one thread at a time: each call gets a copy of its own.
            return context.copy().run(function, *args, **kwargs)

        return carried


class RunScope(Scope):
    """A run, or a model call or a tool execution within one. ``key`` is the run's, None where it has none."""

    key: "RunKey | None" = None
    thread = 0

    def open_at(self, frame: FrameType | None) -> None:
        """Be what is open here from now on; ``frame`` is whose ``with`` it is."""
        outer = latest_run.get()
        self.outer = outer if outer is None or outer.is_open else outer.next_open()
        if frame is not None and _is_stepped(frame):
            self.frame, self.thread = frame, threading.get_ident()
        self.is_open = True
        latest_run.set(self)

    def close_here(self) -> None:
        """Be open no longer."""
        self.is_open = False
        self.frame = None  # or the agent's locals would live as long as this scope
        if latest_run.get() is self:
            latest_run.set(self.outer)


# The scope of a run that was opened last in this context; it may be closed by now.
latest_run: ContextVar[RunScope | None] = ContextVar("capture_sdk_run", default=None)


def current_scope() -> RunScope | None:
    """The run, or what is open within it, that this code runs in."""
    scope = latest_run.get()
    while scope is not None and (not scope.is_open or _is_waiting(scope)):
        scope = scope.next_open()
    return scope


def _is_stepped(frame: FrameType) -> bool:
    """Whether it is a generator's, which somebody steps; one that ``contextlib`` made a ``with`` of is not."""
    if not frame.f_code.co_flags & (CO_GENERATOR | CO_ASYNC_GENERATOR):
        return False
    stepper = frame.f_back
    return stepper is None or stepper.f_code.co_filename != contextlib.__file__


def _is_waiting(scope: RunScope) -> bool:
    """Whether it was opened by a generator of this thread that is not the one running now."""
    if scope.frame is None or scope.thread != threading.get_ident():
        return False
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame is scope.frame:
            return False
        frame = frame.f_back
    return True
