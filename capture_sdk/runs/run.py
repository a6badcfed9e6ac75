"""One run, as the process sees it that opened, resumed or joined it."""

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.records import RunKey, TurnKey
from capture_sdk.runs.drafts import UNSET, Sink, Writer, fault_of, status_of
from capture_sdk.runs.driving import driven, is_driven
from capture_sdk.runs.handover import RUN_HEADER, RUN_VARIABLE, Handover
from capture_sdk.runs.records import EventKind
from capture_sdk.runs.steps import Within
from capture_sdk.runs.verbs import Verbs
from capture_sdk.scopes import current_scope
from capture_sdk.turns import current_turn

Params = ParamSpec("Params")
Result = TypeVar("Result")
Hand = TurnKey | tuple[str, int]


class Run(Within, Verbs):
    """A run. Use it as a context manager, ``with`` or ``async with``, or as a decorator: each call is a run then.

    ``where`` is (agent, run) as they were given, None for what was handed over or is nowhere. ``opening`` is the kind
    of its first event here, ``told`` are that event's fields. ``within`` is the run that this process is part of.
    """

    parent_id: str | None = None

    def __init__(
        self,
        where: tuple[object, object] | None,
        *,
        sink: Sink,
        opening: EventKind = EventKind.RUN_STARTED,
        told: Mapping[str, object],
        hand: Hand | None = None,
        handed: Handover | None = None,
        within: Handover | None = None,
    ) -> None:
        super().__init__(_writer(where, sink, handed), None)
        self._where = where
        self._opening, self._told, self._hand, self._within = opening, told, hand, within
        self._is_part = handed is not None
        self._began_in = 0
        if handed is not None:
            self.event_id = self.parent_id = handed.parent_id

    @property
    def run_id(self) -> str | None:
        """Its id; None where it is recorded nowhere."""
        return None if self.key is None else self.key.run_id

    @property
    def agent_id(self) -> str | None:
        """The agent that it belongs to; None where it is recorded nowhere."""
        return None if self.key is None else self.key.agent_id

    def handover(self) -> str:
        """What another process needs to join this run, and what is open here is its parent; empty if unrecorded."""
        if self.key is None or self.writer.is_idle:
            return ""
        return str(Handover(self.key, self._place().event_id))

    def environment(self) -> dict[str, str]:
        """The hand-over as a variable for a child's environment: ``env={**os.environ, **run.environment()}``."""
        value = self.handover()
        return {RUN_VARIABLE: value} if value else {}

    def headers(self) -> dict[str, str]:
        """The hand-over as a header for a request to another service."""
        value = self.handover()
        return {RUN_HEADER: value} if value else {}

    def __call__(self, function: Callable[Params, Result]) -> Callable[Params, Result]:
        """Decorate a function, a coroutine function, or a generator function of either kind."""
        if is_driven(function):
            return driven(function, lambda args, kwargs: self._again())
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def asynchronous(*args: Params.args, **kwargs: Params.kwargs) -> Any:
                async with self._again():
                    return await function(*args, **kwargs)

            return asynchronous  # type: ignore[return-value]

        @functools.wraps(function)
        def synchronous(*args: Params.args, **kwargs: Params.kwargs) -> Result:
            with self._again():
                return function(*args, **kwargs)

        return synchronous

    def _again(self) -> "Run":
        """The same run anew, with an id of its own where none was given."""
        sink = self.writer.sink
        return Run(
            self._where,
            sink=sink,
            opening=self._opening,
            told=self._told,
            hand=self._hand,
            within=self._within,
        )

    def _place(self) -> Within:
        """What is open here of this run, else the run itself."""
        scope = current_scope()
        return scope if isinstance(scope, Within) and scope.writer is self.writer else self

    def _begin(self) -> None:
        self._began_in = os.getpid()
        fields = dict(self._told)
        if self._opening is EventKind.RUN_STARTED:
            around = self._around()
            fields["outer"] = UNSET if around is None else _named(around.key)
            fields["hand"] = self._hand_fields()
            self.parent_id = None if around is None else around.parent_id
        self._told = {
            name: each for name, each in fields.items() if name != "metadata"
        }  # the agent's, and copied
        self.writer.record(self._opening, fields, self.parent_id)

    def _around(self) -> Handover | None:
        """The run, and what is open in it, within which this one begins."""
        scope = current_scope()
        if isinstance(scope, Within) and scope.key is not None:
            return Handover(scope.key, scope.event_id)
        return self._within

    def _hand_fields(self) -> object:
        try:
            return _hand(self._hand)
        except Exception as exc:  # noqa: BLE001 - promise 1: never raise into the agent; the run itself is recorded
            self.writer.sink.fault("hand", exc)
            return UNSET

    def _left(self, error: BaseException | None) -> None:
        # A process that was forked within the run leaves it: the run is its parent's to finish.
        is_part = self._is_part or self._began_in != os.getpid()
        kind = EventKind.RUN_LEFT if is_part else EventKind.RUN_FINISHED
        self.writer.record(kind, {"status": str(status_of(error))}, self.parent_id, fault=fault_of(error))

    def leave(self, error: BaseException | None = None) -> None:
        """End it where no ``with`` does."""
        try:
            self._left(error)
        except Exception as exc:  # noqa: BLE001 - as above
            self.writer.sink.fault("leave", exc)

    def join(self) -> None:
        """Begin it where no ``with`` does, and without being what is open here."""
        try:
            self._begin()
        except Exception as exc:  # noqa: BLE001 - as above
            self.writer.sink.fault("join", exc)

    def __repr__(self) -> str:
        return f"Run({self.key!r})"


def current_run() -> RunKey | None:
    """The key of the run that this code runs in, of whichever client; None outside of any."""
    scope = current_scope()
    return None if scope is None else scope.key


def _writer(where: tuple[object, object] | None, sink: Sink, handed: Handover | None) -> Writer:
    if handed is not None:
        return Writer(handed.key, sink)
    if sink.is_off or where is None:
        return Writer(None, sink)
    agent_id, run_id = where
    try:
        key = RunKey(
            checked_id("agent_id", agent_id), checked_id("run_id", uuid4().hex if run_id is None else run_id)
        )
    except IdError as exc:
        sink.fault("bad_id", exc)
        return Writer(None, sink, "bad_id")
    return Writer(key, sink)


def _named(key: RunKey) -> dict[str, str]:
    return {"agentId": key.agent_id, "runId": key.run_id}


def _hand(given: Hand | None) -> object:
    """The hand that was named, or that of the turn within which the run begins. Raises IdError for what is none."""
    if given is None:
        turn = current_turn()
        if turn is None:
            return UNSET
        given = (turn.key.table_id, turn.key.hand_number)
    table_id, number = (given.table_id, given.hand_number) if isinstance(given, TurnKey) else given
    return {
        "tableId": checked_id("table_id", table_id),
        "handNumber": checked_index("hand_number", number),
    }
