"""The shapes of what is captured: a turn with its four parts, and a row of the inference ledger."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from capture_sdk.freeze import unpack
from capture_sdk.prompt import Prompt

Amount = int | float | str | None


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One correction between the parsed action and the sent one: which rule, from what, to what, why."""

    rule: str
    before: object
    after: object
    why: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call to the model within a turn.

    ``status`` is ``ok``, an HTTP status as text, ``timeout`` or ``unusable``; ``latency_ms`` is the wait.
    """

    status: str
    latency_ms: float | None = None
    response: str | bytes | None = None
    reasoning: str | bytes | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TurnKey:
    """Where a turn belongs. Ordered by agent and action index within a hand."""

    table_id: str
    hand_number: int
    agent_id: str
    action_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One captured turn. None means *not captured*; an empty value means *captured, and empty*.

    ``knowledge``, ``decision`` and ``usage`` are frozen bytes (see ``freeze``); ``decision`` is a frozen
    list of the messages that left, credentials marked. ``losses`` counts this client's lost turns so
    far by reason; ``sequence`` numbers its turns within (client, agent, hand) from 0.
    """

    key: TurnKey
    captured_at: datetime.datetime
    agent_version_id: str | None = None
    knowledge: bytes | None = None
    prompt: Prompt | None = None
    response: str | bytes | None = None
    reasoning: str | bytes | None = None
    decision: bytes | None = None
    action: str | None = None
    amount: Amount = None
    adjustments: tuple[Adjustment, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    model: str | None = None
    provider: str | None = None
    routing: str | None = None
    usage: bytes | None = None
    cost_micros: int | None = None
    latency_ms: float | None = None
    error: str | None = None
    redactions: Mapping[str, int] = field(default_factory=dict)
    client_id: str | None = None
    sequence: int | None = None
    losses: Mapping[str, int] = field(default_factory=dict)

    @property
    def messages(self) -> list[object] | None:
        """The messages that left during the turn, or None when the decision was not captured."""
        if self.decision is None:
            return None
        thawed = unpack(self.decision)
        return thawed if isinstance(thawed, list) else [thawed]

    @property
    def sent(self) -> tuple[str, object] | None:
        """The (action, amount) of the last message that states an action, or None if none left."""
        return sent_action(self.messages or [])

    @property
    def is_clamped(self) -> bool:
        """Whether what left differs from what was parsed: computed from the messages, never claimed."""
        if self.action is None or self.decision is None:
            return False
        return differs((self.action, self.amount), self.sent)

    def with_envelope(self, envelope: bytes | None) -> "TurnRecord":
        """The same record with its prompt's envelope put back (or marked as missing)."""
        if self.prompt is None or self.prompt.env_hash is None:
            return self
        return replace(self, prompt=replace(self.prompt, envelope=envelope))


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One row of the inference ledger: a real turn or a fallback, tokens summed over its attempts.

    Unknown tokens and costs are None, never 0. ``cost_micros`` counts millionths of the currency.
    ``action`` and ``amount`` are what the agent took, also on a fallback.
    """

    key: TurnKey
    charged_at: datetime.datetime
    agent_version_id: str | None = None
    model: str | None = None
    provider: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_micros: int | None = None
    attempts: int = 1
    is_fallback: bool = False
    fallback_reason: str | None = None
    is_clamped: bool = False
    is_redacted: bool = False
    action: str | None = None
    amount: Amount = None
    usage: bytes | None = None


def sent_action(messages: list[object]) -> tuple[str, object] | None:
    """The (action, amount) of the last message that is a mapping with a string under ``action``."""
    for message in reversed(messages):
        if isinstance(message, dict) and isinstance(message.get("action"), str):
            return message["action"], message.get("amount")
    return None


def differs(parsed: tuple[str, object], sent: tuple[str, object] | None) -> bool:
    """Whether the sent action is another than the parsed one.

    An amount that was never parsed cannot be contradicted: ``call`` and ``call 60`` agree.
    """
    if sent is None or parsed[0] != sent[0]:
        return True
    return parsed[1] is not None and parsed[1] != sent[1]
