"""The verbs an agent calls while it runs, on the client (for the run that is open here) or on a run itself.

Each is invisible: it never raises into the agent, changes nothing that it is given, and keeps no reference to it.
Outside of any run nothing is recorded, and counted as lost with the reason ``no_run``.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, ParamSpec, TypeVar

from capture_sdk.binding import Bind, binder
from capture_sdk.runs.drafts import UNSET, Unset
from capture_sdk.runs.driving import driven, is_driven
from capture_sdk.runs.records import EventKind, Place, SideEffect, Status
from capture_sdk.runs.steps import (
    ModelCall,
    Step,
    ToolExecution,
    ToolProposal,
    Within,
    id_of,
    items,
    side_effect,
)

Params = ParamSpec("Params")
Result = TypeVar("Result")

_PLACES: Final = frozenset(Place)
_PAYLOADS: Final = (
    "messages",
    "input",
    "contents",
    "prompt",
)  # a call's parameters with one of them are its request


class Verbs:
    """What can be recorded. ``_place`` is what events happen in."""

    def _place(self) -> Within:
        raise NotImplementedError

    def record_event(self, name: str, data: object = UNSET) -> None:
        """Record that something happened."""
        self._write(EventKind.EVENT, {"name": name, "data": data})

    def checkpoint(
        self,
        name: str,
        state: object = UNSET,
        place: Place | str | None = None,
        is_whole: bool | None = None,
    ) -> None:
        """Record the agent's state. ``place`` is one of the four of ``Place``, and is taken from a name that is one.

        ``is_whole`` says whether ``state`` is all that a replay needs to go on from here.
        """
        place = name if place is None and isinstance(name, str) and name in _PLACES else place
        self._write(
            EventKind.CHECKPOINT,
            {
                "name": name,
                "place": str(place) if isinstance(place, str) else UNSET,
                "state": state,
                "isWhole": is_whole if isinstance(is_whole, bool) else UNSET,
            },
        )

    def annotate_context(
        self,
        kind: str,
        path: str,
        value: object = UNSET,
        *,
        provenance: object = UNSET,
        visibility: str | Unset = UNSET,
        metadata: Mapping[str, object] | None = None,
        call: ModelCall | str | None = None,
    ) -> None:
        """Say of a part of the context where it came from, and whether the model saw it (``model``, ``hidden``)."""
        fields = {
            "kind": kind,
            "path": path,
            "value": value,
            "provenance": provenance,
            "visibility": visibility,
        }
        self._write(EventKind.CONTEXT_ANNOTATED, {**fields, "metadata": items(metadata), "call": id_of(call)})

    def start_model_call(
        self,
        provider: str,
        model: str,
        operation: str,
        params: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
        *,
        request: object = UNSET,
    ) -> ModelCall:
        """Record that a model is called, and return the call, to be finished or used as a context manager.

        ``request`` is the payload as it is sent, a map or the raw body; left out, ``params`` are the request if they
        hold ``messages``, ``input``, ``contents`` or ``prompt``.
        """
        if request is UNSET and isinstance(params, dict) and any(name in params for name in _PAYLOADS):
            request, params = params, None
        fields = {"provider": provider, "model": model, "operation": operation, "request": request}
        place = self._place()
        event_id = self._write(
            EventKind.MODEL_CALL_STARTED,
            {**fields, "params": items(params), "settings": items(settings)},
            place,
        )
        return ModelCall(place.writer, event_id, place.event_id)

    model_call = start_model_call

    def finish_model_call(
        self,
        call: ModelCall,
        output: object = UNSET,
        *,
        usage: object = UNSET,
        logprobs: object = UNSET,
        error: object = None,
        status: Status | str | None = None,
    ) -> None:
        """Record how a model call ended: ``call.finish(…)``."""
        call.finish(output, usage=usage, logprobs=logprobs, error=error, status=status)

    def record_tool_proposal(
        self,
        name: str,
        arguments: object = UNSET,
        *,
        call_id: str | None = None,
        call: ModelCall | str | None = None,
        description: object = UNSET,
        schema: object = UNSET,
    ) -> ToolProposal:
        """Record a tool call that a model asked for, its arguments exactly as the model wrote them."""
        place = self._place()
        fields = {"name": name, "arguments": arguments, "callId": UNSET if call_id is None else call_id}
        event_id = self._write(
            EventKind.TOOL_PROPOSED,
            {**fields, "call": id_of(call), "description": description, "schema": schema},
            place,
        )
        return ToolProposal(place.writer, event_id, place.event_id, name=name, call_id=call_id)

    def deny_tool(self, proposal: ToolProposal | str, reason: object = UNSET, *, by: object = UNSET) -> None:
        """Record that a proposed tool call is not executed."""
        self._write(EventKind.TOOL_DENIED, {"proposal": id_of(proposal), "reason": reason, "by": by})

    def start_tool_execution(
        self,
        name: str,
        arguments: object = UNSET,
        *,
        proposal: ToolProposal | str | None = None,
        call_id: str | None = None,
        side_effect_class: SideEffect | str | None = None,
    ) -> ToolExecution:
        """Record that a tool is executed, and return the execution, to be finished or used as a context manager.

        ``side_effect_class`` is ``none``, ``read``, ``write``, ``external`` or ``irreversible``, and never guessed.
        """
        place = self._place()
        if call_id is None and isinstance(proposal, ToolProposal):
            call_id = proposal.call_id
        fields = {"name": name, "arguments": arguments, "callId": UNSET if call_id is None else call_id}
        event_id = self._write(
            EventKind.TOOL_STARTED,
            {**fields, "proposal": id_of(proposal), "sideEffect": self._side_effect(side_effect_class)},
            place,
        )
        return ToolExecution(place.writer, event_id, place.event_id)

    tool_execution = start_tool_execution

    def finish_tool_execution(
        self,
        execution: ToolExecution,
        output: object = UNSET,
        *,
        error: object = None,
        status: Status | str | None = None,
    ) -> None:
        """Record how an execution ended: ``execution.finish(…)``."""
        execution.finish(output, error=error, status=status)

    def tool(
        self, name: str | None = None, *, side_effect_class: SideEffect | str | None = None
    ) -> Callable[[Callable[Params, Result]], Callable[Params, Result]]:
        """Decorate a tool: each call is an execution, its arguments bound by signature, its result the output."""

        def decorate(function: Callable[Params, Result]) -> Callable[Params, Result]:
            bind = binder(inspect.signature(function))
            called = name or str(getattr(function, "__name__", "tool"))

            def begin(args: tuple[object, ...], kwargs: dict[str, object]) -> ToolExecution:
                arguments = _bound(bind, args, kwargs)
                return self.start_tool_execution(called, arguments, side_effect_class=side_effect_class)

            return _recorded(function, begin)

        return decorate

    def _side_effect(self, given: SideEffect | str | None) -> object:
        try:
            return side_effect(given)
        except ValueError as exc:
            self._place().writer.sink.fault("side_effect_class", exc)
            return UNSET

    def _write(self, kind: EventKind, fields: dict[str, Any], place: Within | None = None) -> str | None:
        within = place or self._place()
        try:
            return within.writer.record(kind, fields, within.event_id)
        except Exception as exc:  # noqa: BLE001 - here promise 1 (never raise into the agent) is kept
            within.writer.sink.fault(kind, exc)
            return None


def _bound(bind: Bind, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    try:
        found = bind(args, kwargs)
    except Exception:  # noqa: BLE001 - promise 1: never raise into the agent
        return UNSET
    return UNSET if found is None else found


def _recorded(
    function: Callable[Params, Result],
    begin: Callable[[tuple[object, ...], dict[str, object]], Step],
) -> Callable[Params, Result]:
    """``function``, each call of which is a step; its result is the step's output."""
    if is_driven(function):
        return driven(function, begin)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def asynchronous(*args: Params.args, **kwargs: Params.kwargs) -> Any:
            with begin(args, kwargs) as step:
                result = await function(*args, **kwargs)
                step.finish(result)
            return result

        return asynchronous  # type: ignore[return-value]

    @functools.wraps(function)
    def synchronous(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        with begin(args, kwargs) as step:
            result = function(*args, **kwargs)
            step.finish(result)
        return result

    return synchronous
