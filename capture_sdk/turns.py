"""The verbs an agent calls while it takes a turn.

A turn is opened when ``your_turn`` arrives and closed when it is handed to delivery. Every verb here is
invisible: it never raises into the agent, never changes what it is given, and keeps no reference to anything
that can change. What can wait (hashing, redaction, encoding) waits for the delivery thread; ``sealing`` does it.
"""

import datetime
import functools
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Literal, ParamSpec, Protocol, Self, TypeVar

from capture_sdk.freeze import pack, snapshot, snapshot_items, unpack
from capture_sdk.keys import checked_id, checked_index
from capture_sdk.records import Adjustment, Amount, Charge, RunKey, TurnKey
from capture_sdk.redact.policy import CapturePolicy
from capture_sdk.scopes import RunScope, Scope, current_scope, latest_run
from capture_sdk.usage import TokenCounts, token_counts

Params = ParamSpec("Params")
Result = TypeVar("Result")
Text = str | bytes


# The copy of one message: packed, whether it is still to be settled, and why its send failed, if it did.
Sent = tuple[bytes, bool, str | None]
# One call to the model, before it becomes an Attempt: status, latency, response, reasoning, error.
Call = tuple[str, float | None, Text | None, Text | None, str | None]


class Door(Protocol):
    """The part of an outbox that a turn needs."""

    @property
    def secrets(self) -> frozenset[str]: ...
    def learn(self, secrets: frozenset[str]) -> None: ...
    def begin(self, turn: "Turn") -> None: ...


class Sink(Protocol):
    """Where a finished turn goes: the client's delivery."""

    @property
    def policy(self) -> CapturePolicy: ...
    def submit(self, turn: "Turn") -> None: ...
    def fault(self, where: str, error: Exception) -> None: ...


# The turn that was opened last in this context; it may be closed by now.
latest: ContextVar["Turn | None"] = ContextVar("capture_sdk_turn", default=None)


def current_turn() -> "Turn | None":
    """The turn that is open in this context, if any.

    Generators share the context of whoever steps them: where several turns are open in one, the frame
    that is running decides whose it is.
    """
    turn = latest.get()
    while turn is not None and not turn.is_open:
        turn = turn.outer
    if turn is None or turn.next_open() is None:
        return turn
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        owner: Turn | None = turn
        while owner is not None:
            if owner.frame is frame:
                return owner
            owner = owner.next_open()
        frame = frame.f_back
    # None of those that were opened within another is running: it is the first, whose frame is not known.
    while (around := turn.next_open()) is not None:
        turn = around
    return turn


def invisible(verb: Callable[Params, None]) -> Callable[Params, None]:
    """Keep a recorder's fault from the agent: it is counted and logged, and the turn goes on."""

    @functools.wraps(verb)
    def guarded(*args: Params.args, **kwargs: Params.kwargs) -> None:
        try:
            verb(*args, **kwargs)
        except Exception as exc:  # noqa: BLE001 - here promise 1 (never raise into the agent) is kept
            turn = args[0]
            if isinstance(turn, Turn):
                turn.sink.fault(verb.__name__.lstrip("_"), exc)

    return guarded


class Turn(Scope):
    """One turn of one agent. Use it as a context manager, ``with`` or ``async with``.

    ``where`` is (table, hand, agent, action index) as the agent gave it, ``outbox`` the seat's door, ``sink``
    takes the finished turn. ``run`` is the run that it is part of, if not the one that is open where it is opened.
    """

    # What a turn has not been told stays here, and costs its thread nothing.
    knowledge: tuple[bytes, bool] | None = None
    parts: tuple[Text, Text, Text] | None = None  # envelope, remainder, joiner
    whole: Text | None = None
    messages: tuple[bytes, bool] | None = None
    answer: Text | None = None
    reasoning: Text | None = None
    sent: list[Sent] | None = None
    action: str | None = None
    amount: Amount = None
    adjustments: tuple[Adjustment, ...] = ()
    calls: tuple[Call, ...] = ()
    tokens: tuple[TokenCounts, ...] = ()
    model: str | None = None
    provider: str | None = None
    routing: str | None = None
    usage: bytes | None = None
    cost_micros: int | None = None
    latency_ms: float | None = None
    error: str | None = None
    fallback_reason: str | None = None
    run: RunKey | None = None
    sequence = 0
    closed_at = 0.0

    def __init__(
        self,
        where: tuple[object, object, object, object],
        *,
        sink: Sink,
        outbox: Door | None = None,
        agent_version_id: str | None = None,
        run: object = None,
    ) -> None:
        self.where = where
        self.sink = sink
        self.outbox = outbox
        self.agent_version_id = agent_version_id
        if run is not None:
            self.run = _run_key(run)

    # The four parts, in the loop's order.

    def knows(self, /, **items: object) -> None:
        """Freeze what the context builder was called with; ``@knowledge`` does it by signature."""
        try:
            self.knowledge = snapshot_items(items)
        except Exception as exc:  # noqa: BLE001 - as above, without the cost of one more call
            self.sink.fault("knows", exc)

    def prompt(
        self,
        envelope: Text | Sequence[Mapping[str, object]],
        remainder: Text | None = None,
        *,
        joiner: Text = "\n",
    ) -> None:
        """State the exact prompt: ``envelope + joiner + remainder``.

        The envelope is the part that repeats; it is stored once however many turns share it. Given in one
        piece (one string, or a list of chat messages) the prompt is split where this agent's prompts stop being
        equal.
        """
        if type(envelope) is str and type(remainder) is str and type(joiner) is str:
            self.parts = (envelope, remainder, joiner)  # what nearly every turn gives: nothing to copy
        else:
            self._prompt(envelope, remainder, joiner)

    @invisible
    def _prompt(self, envelope: object, remainder: object, joiner: object) -> None:
        if remainder is not None:
            self.parts = (_steady(envelope), _steady(remainder), _steady(joiner))
        elif isinstance(envelope, str | bytes | bytearray | memoryview):
            self.whole = _steady(envelope)
        elif isinstance(envelope, list | tuple):
            self.messages = snapshot(list(envelope))
        else:
            raise TypeError(f"a prompt is text or a list of messages, not {type(envelope).__name__}")

    def response(
        self,
        raw: Text,
        *,
        reasoning: Text | None = None,
        model: str | None = None,
        provider: str | None = None,
        routing: str | None = None,
        usage: object = None,
        cost_micros: int | None = None,
        latency_ms: float | None = None,
    ) -> None:
        """State the raw completion, before any parsing, and what the provider said beside it.

        ``cost_micros`` is in millionths and adds to what failed attempts cost; ``latency_ms`` is the wait.
        """
        try:
            self.answer = raw if type(raw) is str else _steady(raw)
            if reasoning is not None:
                self.reasoning = _steady(reasoning)
            if model is not None:
                self.model = model
            if provider is not None:
                self.provider = provider
            self.routing, self.latency_ms = routing, latency_ms
            if usage is not None:
                self.usage = pack(usage)
            if usage is not None or cost_micros is not None:
                self._spend(usage, cost_micros)
            self.calls += (("ok", latency_ms, None, None, None),)
        except Exception as exc:  # noqa: BLE001 - as above, without the cost of one more call
            self.sink.fault("response", exc)

    @invisible
    def attempt(
        self,
        status: str,
        *,
        latency_ms: float | None = None,
        response: Text | None = None,
        reasoning: Text | None = None,
        error: str | None = None,
        usage: object = None,
        cost_micros: int | None = None,
        model: str | None = None,
        provider: str | None = None,
    ) -> None:
        """List a call that gave no usable answer: ``500``, ``timeout``, ``unusable`` and what came back."""
        self.model, self.provider = model or self.model, provider or self.provider
        self._spend(usage, cost_micros)
        response = None if response is None else _steady(response)
        reasoning = None if reasoning is None else _steady(reasoning)
        self.calls += ((status, latency_ms, response, reasoning, error),)

    def parsed(self, action: str, amount: Amount = None) -> None:
        """State the action that was read out of the answer, before any correction."""
        self.action = action
        self.amount = amount

    @invisible
    def adjusted(self, rule: str, before: object, after: object, why: str) -> None:
        """State one correction between the parsed action and the sent one."""
        self.adjustments += (Adjustment(rule, unpack(pack(before)), unpack(pack(after)), why),)

    def fallback(self, reason: str) -> None:
        """State that no usable answer came and the safe action is taken: no record, only a charge."""
        self.fallback_reason = reason

    # The frame around them.

    def __enter__(self) -> Self:
        try:
            outer = latest.get()
            if outer is not None:
                self._open_within(outer, sys._getframe(1))
            self.is_open = True
            latest.set(self)
            if self.run is None and latest_run.get() is not None:
                scope = current_scope()
                self.run = None if scope is None else scope.key
            if self.outbox is not None:
                self.sent = []
                self.outbox.begin(self)
        except Exception as exc:  # noqa: BLE001 - as above
            self.sink.fault("open", exc)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        try:
            if self.is_open:
                self.is_open = False
                self.frame = None  # or the agent's locals would live as long as this turn
                if latest.get() is self:
                    latest.set(self.outer)
                self.closed_at = time.time()
                if error is not None:
                    self.error = type(error).__name__  # its text may hold content, and is the agent's own
                self.sink.submit(self)
        except Exception as exc:  # noqa: BLE001 - as above
            self.sink.fault("close", exc)
        return False

    async def __aenter__(self) -> Self:
        return self.__enter__()  # tasks have contexts of their own: no frame has to tell them apart

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        return self.__exit__(kind, error, trace)

    def _open_within(self, outer: "Turn", frame: FrameType) -> None:
        """Another turn is open in this context: around this one, or in a generator that is waiting."""
        self.outer = outer if outer.is_open else outer.next_open()
        if self.outer is not None:
            self.frame = frame

    def _spend(self, usage: object, cost_micros: int | None) -> None:
        self.tokens += (token_counts(usage),)
        if cost_micros is not None:
            self.cost_micros = (self.cost_micros or 0) + cost_micros

    # What is read off it.

    @property
    def key(self) -> TurnKey:
        """Where it belongs. Raises IdError, naming the value, when no store could hold it."""
        table_id, hand_number, agent_id, action_index = self.where
        return TurnKey(
            checked_id("table_id", table_id),
            checked_index("hand_number", hand_number),
            checked_id("agent_id", agent_id),
            checked_index("action_index", action_index),
        )

    @property
    def captured_at(self) -> datetime.datetime:
        """When it was closed, in UTC."""
        return datetime.datetime.fromtimestamp(self.closed_at or time.time(), datetime.UTC)

    @property
    def is_fallback(self) -> bool:
        """Whether the safe action was taken because no usable answer came."""
        return self.fallback_reason is not None

    def charge(self, **changes: object) -> Charge:
        """The ledger row of this turn, tokens and cost summed over its attempts; call it after the turn.

        ``changes`` replace fields of the row. Raises IdError when the ids are none that a store could hold.
        """
        from capture_sdk.sealing import charge_of

        return charge_of(self, **changes)

    def size(self) -> int:
        """About how many bytes it holds in memory, for the queue's bound."""
        held = 1_000  # the objects themselves
        if self.knowledge is not None:
            held += len(self.knowledge[0])
        if self.parts is not None:
            held += len(self.parts[0]) + len(self.parts[1])
        elif self.whole is not None:
            held += len(self.whole)
        elif self.messages is not None:
            held += len(self.messages[0])
        if self.answer is not None:
            held += len(self.answer)
        if self.reasoning is not None:
            held += len(self.reasoning)
        if self.sent is not None:
            for packed, _, _ in self.sent:
                held += len(packed)
        if len(self.calls) > 1:
            held += sum(
                len(response or "") + len(reasoning or "") for _, _, response, reasoning, _ in self.calls
            )
        return held


def _steady(text: object) -> Text:
    """A bytearray or memoryview could still change; str and bytes cannot. Raises TypeError for anything else."""
    kind = type(text)
    if kind is str or kind is bytes:
        return text  # type: ignore[return-value]
    if isinstance(text, str):
        return str.__str__(text)  # a subclass may answer differently later
    if isinstance(text, bytes | bytearray | memoryview):
        return bytes(text)
    raise TypeError(f"text is str or bytes, not {type(text).__name__}")


def _run_key(run: object) -> RunKey | None:
    """The key of a run, given as that or as the run; None for anything else, which no store could hold."""
    key = run.key if isinstance(run, RunScope) else run
    return key if isinstance(key, RunKey) else None
