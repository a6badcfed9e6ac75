"""What the quality report asks of each model call."""

from collections.abc import Iterator
from typing import Final

from capture.runs.inventory import CallContext, Inventory, RequestState
from capture.runs.inventory.found import Kind
from capture.runs.pairing import ModelCall, Paired
from capture.runs.quality import lines
from capture.runs.quality.lines import Check, Lack, Line
from capture_sdk.runs.records import Status

_STATUSES: Final = frozenset(str(each) for each in Status)
_REQUESTS: Final = {
    RequestState.NOT_CAPTURED: "request",
    RequestState.NOT_AVAILABLE: "request: its artifact is not available",
}


def of_calls(paired: Paired, context: Inventory) -> Iterator[Line]:
    """The lines on model calls, in the report's order."""
    calls = paired.calls
    contexts = {each.call: each for each in context.calls}
    for check, field in (
        (lines.PROVIDER, "provider"),
        (lines.MODEL, "model"),
        (lines.OPERATION, "operation"),
    ):
        yield _named(check, calls, field)
    yield lines.REQUEST.answer(len(calls), [lack for each in calls for lack in _request(each, contexts)])
    yield lines.RESPONSE.answer(len(calls), [lack for each in calls for lack in _response(each)])
    unset = [each for each in calls if not _has_settings(each, contexts.get(each.event_id))]
    yield lines.SETTINGS.answer(len(calls), [Lack(each.event_id, "settings") for each in unset])
    yield _usage(calls)
    yield _errors(calls)


def _named(check: Check, calls: tuple[ModelCall, ...], field: str) -> Line:
    return check.answer(
        len(calls), [Lack(each.event_id, field) for each in calls if not each.start.text(field)]
    )


def _request(call: ModelCall, contexts: dict[str, CallContext]) -> Iterator[Lack]:
    context = contexts.get(call.event_id)
    what = _REQUESTS.get(context.state) if context is not None else None
    if what is not None:
        yield Lack(call.event_id, what)


def _response(call: ModelCall) -> Iterator[Lack]:
    """An answer; a call that failed or was cancelled has none to have, and one that nothing ended lacks its end."""
    if call.finish is None:
        yield Lack(call.event_id, "end")
    elif call.status not in _STATUSES:
        yield Lack(call.event_id, "status")
    elif call.status in (Status.OK, Status.INCOMPLETE) and "output" not in call.finish.fields:
        yield Lack(call.event_id, "output")


def _has_settings(call: ModelCall, context: CallContext | None) -> bool:
    """Whether they were given by themselves, as parameters, or within the request, beside the model's name."""
    if {"settings", "params"} & call.start.fields.keys():
        return True
    items = context.items if context is not None else ()
    return any(item.kind == Kind.SETTINGS and item.role is None and item.path != "model" for item in items)


def _usage(calls: tuple[ModelCall, ...]) -> Line:
    answered = [(each, each.finish) for each in calls if each.finish is not None and each.status == Status.OK]
    lacks = [Lack(call.event_id, "usage") for call, finish in answered if "usage" not in finish.fields]
    return lines.USAGE.answer(len(answered), lacks)


def _errors(calls: tuple[ModelCall, ...]) -> Line:
    failed = [
        (each, each.finish) for each in calls if each.finish is not None and each.status == Status.ERROR
    ]
    lacks = [Lack(call.event_id, "error") for call, finish in failed if not finish.fields.get("error")]
    return lines.ERROR.answer(len(failed), lacks)
