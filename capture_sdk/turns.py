"""The verbs an agent calls while it takes a turn.

A turn is opened when ``your_turn`` arrives and closed when its record is handed to delivery. Every verb
here is invisible: it never raises into the agent, never changes what it is given, and keeps no
reference to anything that can change.
"""

import datetime
import functools
import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Literal, ParamSpec, Protocol, Self

from capture_sdk.freeze import pack, pack_items, unpack
from capture_sdk.prompt import Prompt, split
from capture_sdk.records import Adjustment, Amount, Attempt, Charge, TurnKey, TurnRecord, differs, sent_action
from capture_sdk.usage import TokenCounts, token_counts, total

log = logging.getLogger("capture_sdk")

Params = ParamSpec("Params")

_current: ContextVar["Turn | None"] = ContextVar("capture_sdk_turn", default=None)


class Door(Protocol):
    """The part of an outbox that a turn needs."""

    @property
    def secrets(self) -> frozenset[str]: ...
    def reset(self) -> None: ...
    def drain(self) -> tuple[bytes, int]: ...
    def close(self) -> None: ...


class Sink(Protocol):
    """Where a finished turn goes: the client's delivery."""

    def submit(self, turn: "Turn") -> None: ...
    def fault(self, where: str, error: Exception) -> None: ...


def current_turn() -> "Turn | None":
    """The turn that is open in this context, if any."""
    return _current.get()


def invisible(verb: Callable[Params, None]) -> Callable[Params, None]:
    """Keep a recorder's fault from the agent: it is counted and logged, and the turn goes on."""

    @functools.wraps(verb)
    def guarded(*args: Params.args, **kwargs: Params.kwargs) -> None:
        try:
            verb(*args, **kwargs)
        except Exception as exc:  # noqa: BLE001 - the one place where promise 1 (never raise into the agent) is kept
            turn = args[0]
            if isinstance(turn, Turn):
                turn.sink.fault(verb.__name__, exc)

    return guarded


class Turn:
    """One turn of one agent. Use it as a context manager, ``with`` or ``async with``.

    ``key`` says where it belongs, ``outbox`` is the seat's door, ``sink`` takes the finished turn.
    """

    def __init__(
        self, key: TurnKey, *, sink: Sink, outbox: Door | None = None, agent_version_id: str | None = None
    ) -> None:
        self.key = key
        self.sink = sink
        self.agent_version_id = agent_version_id
        self.knowledge: bytes | None = None
        self.parts: tuple[str | bytes, str | bytes, str | bytes] | None = None
        self.answer: str | bytes | None = None
        self.reasoning: str | bytes | None = None
        self.decision: bytes | None = None
        self.marks = 0
        self.secrets: frozenset[str] = frozenset()
        self.action: str | None = None
        self.amount: Amount = None
        self.adjustments: list[Adjustment] = []
        self.attempts: list[Attempt] = []
        self.model: str | None = None
        self.provider: str | None = None
        self.routing: str | None = None
        self.usage: bytes | None = None
        self.cost_micros: int | None = None
        self.latency_ms: float | None = None
        self.error: str | None = None
        self.fallback_reason: str | None = None
        self.sequence = 0
        self.captured_at = datetime.datetime.now(datetime.UTC)
        self._outbox = outbox
        self._tokens: list[TokenCounts] = []
        self._token: Token[Turn | None] | None = None

    # The four parts, in the loop's order.

    @invisible
    def knows(self, **items: object) -> None:
        """Freeze what the context builder was called with; ``@knowledge`` does it by signature."""
        self.knowledge = pack_items(items)

    @invisible
    def prompt(
        self, envelope: str | bytes, remainder: str | bytes = "", *, joiner: str | bytes = "\n"
    ) -> None:
        """State the exact prompt: ``envelope + joiner + remainder``, or the envelope alone.

        The envelope is the part that repeats; it is stored once however many turns share it.
        """
        self.parts = (_steady(envelope), _steady(remainder), _steady(joiner))

    @invisible
    def response(
        self,
        raw: str | bytes,
        *,
        reasoning: str | bytes | None = None,
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
        self.answer = _steady(raw)
        self.reasoning = None if reasoning is None else _steady(reasoning)
        self.model, self.provider, self.routing = model or self.model, provider or self.provider, routing
        self.latency_ms = latency_ms
        self._spend(usage, cost_micros)
        self.usage = None if usage is None else pack(usage)
        self.attempts.append(Attempt("ok", latency_ms))

    @invisible
    def attempt(
        self,
        status: str,
        *,
        latency_ms: float | None = None,
        response: str | bytes | None = None,
        reasoning: str | bytes | None = None,
        error: str | None = None,
        usage: object = None,
        cost_micros: int | None = None,
        model: str | None = None,
        provider: str | None = None,
    ) -> None:
        """List a call that gave no usable answer: ``500``, ``timeout``, ``unusable`` and what came back."""
        self.model, self.provider = model or self.model, provider or self.provider
        self._spend(usage, cost_micros)
        self.attempts.append(Attempt(status, latency_ms, response, reasoning, error))

    @invisible
    def parsed(self, action: str, amount: Amount = None) -> None:
        """State the action that was read out of the answer, before any correction."""
        self.action, self.amount = action, amount

    @invisible
    def adjusted(self, rule: str, before: object, after: object, why: str) -> None:
        """State one correction between the parsed action and the sent one."""
        self.adjustments.append(Adjustment(rule, unpack(pack(before)), unpack(pack(after)), why))

    @invisible
    def fallback(self, reason: str) -> None:
        """State that no usable answer came and the safe action is taken: no record, only a charge."""
        self.fallback_reason = reason

    # The frame around them.

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self._close(error)
        return False

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        return self.__exit__(kind, error, trace)

    @invisible
    def _open(self) -> None:
        self._token = _current.set(self)
        if self._outbox is not None:
            self._outbox.reset()

    @invisible
    def _close(self, error: BaseException | None) -> None:
        self._leave_context()
        if self._outbox is not None:
            self.decision, self.marks = self._outbox.drain()
            self.secrets = self._outbox.secrets
        self.captured_at = datetime.datetime.now(datetime.UTC)
        if error is not None:
            self.error = type(error).__name__  # its text may hold content, and belongs to the agent's own log
        self.sink.submit(self)

    def _leave_context(self) -> None:
        if self._token is None:
            return
        try:
            _current.reset(self._token)
        except ValueError:  # closed from another context than it was opened in, as a generator may be
            _current.set(None)

    def _spend(self, usage: object, cost_micros: int | None) -> None:
        self._tokens.append(token_counts(usage))
        if cost_micros is not None:
            self.cost_micros = (self.cost_micros or 0) + cost_micros

    # What is read off it.

    @property
    def is_fallback(self) -> bool:
        """Whether the safe action was taken because no usable answer came."""
        return self.fallback_reason is not None

    @property
    def is_abandoned(self) -> bool:
        """Whether an exception ended it before any answer: there is no turn to show."""
        return self.error is not None and self.answer is None

    def charge(self, **changes: object) -> Charge:
        """The ledger row of this turn, tokens and cost summed over its attempts; call it after the turn."""
        tokens = total(self._tokens)
        messages = unpack(self.decision) if self.decision is not None else None
        sent = sent_action(messages) if isinstance(messages, list) else None
        clamped = not self.is_fallback and self.action is not None and messages is not None
        taken = (self.action, self.amount) if self.action is not None else (sent or (None, None))
        fields: dict[str, Any] = {
            "key": self.key,
            "charged_at": self.captured_at,
            "agent_version_id": self.agent_version_id,
            "model": self.model,
            "provider": self.provider,
            "input_tokens": tokens.input,
            "cached_tokens": tokens.cached,
            "cache_write_tokens": tokens.cache_write,
            "output_tokens": tokens.output,
            "reasoning_tokens": tokens.reasoning,
            "cost_micros": self.cost_micros,
            "attempts": len(self.attempts),
            "is_fallback": self.is_fallback,
            "fallback_reason": self.fallback_reason,
            "is_clamped": clamped and differs((self.action or "", self.amount), sent),
            "is_redacted": bool(self.marks),
            "action": taken[0],
            "amount": taken[1],
            "usage": self.usage,
        }
        return Charge(**(fields | changes))

    def seal(self, *, client_id: str, losses: Mapping[str, int]) -> TurnRecord:
        """Build the record. Hashing happens here, on the delivery thread, not on the turn's."""
        return TurnRecord(
            key=self.key,
            captured_at=self.captured_at,
            agent_version_id=self.agent_version_id,
            knowledge=self.knowledge,
            prompt=self._prompt(),
            response=self.answer,
            reasoning=self.reasoning,
            decision=self.decision,
            action=self.action,
            amount=self.amount,
            adjustments=tuple(self.adjustments),
            attempts=tuple(self.attempts),
            model=self.model,
            provider=self.provider,
            routing=self.routing,
            usage=self.usage,
            cost_micros=self.cost_micros,
            latency_ms=self.latency_ms,
            error=self.error,
            redactions={"mask": self.marks} if self.marks else {},
            client_id=client_id,
            sequence=self.sequence,
            losses=losses,
        )

    def size(self) -> int:
        """About how many bytes it holds in memory, for the queue's bound."""
        held = [self.knowledge, self.answer, self.reasoning, self.decision, *(self.parts or ())]
        held += [attempt.response for attempt in self.attempts]
        return 1_000 + sum(len(part) for part in held if part is not None)

    def _prompt(self) -> Prompt | None:
        return None if self.parts is None else split(*self.parts)


def _steady(text: str | bytes) -> str | bytes:
    """A bytearray or memoryview could still change; str and bytes cannot."""
    return text if isinstance(text, str | bytes) else bytes(text)
