"""The shapes of what is captured: a turn with its four parts, and a row of the inference ledger."""

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from capture_sdk.freeze import unpack
from capture_sdk.keys import checked_id
from capture_sdk.prompt import Prompt

Amount = int | float | str | None

_LONGEST_MESSAGE: Final = 1024 * 1024  # characters; a longer one is no player's action


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


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """What names a run: the agent that it belongs to, and an id of its own. Raises IdError for ids that are none."""

    agent_id: str
    run_id: str

    def __post_init__(self) -> None:
        checked_id("Agent id", self.agent_id)
        checked_id("Run id", self.run_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One captured turn. None means *not captured*; an empty value means *captured, and empty*.

    ``knowledge``, ``decision``, ``unsent`` and ``usage`` are frozen bytes (see ``freeze``); ``decision`` is a
    frozen list of the messages that left, ``unsent`` one of ``{"message", "error"}`` for those whose send failed,
    credentials marked. ``redactions`` counts what was changed by action, under the rules of ``policy``;
    ``rewritten`` names byte-faithful fields that a policy changed, ``cut`` those that were too large to keep.
    ``artifacts`` are the values that a policy put apart, by sha256. ``losses`` counts this client's lost turns so far
    by reason; ``sequence`` numbers its turns within (client, agent, hand) from 0. ``run`` is the run that the turn
    was taken in.
    """

    key: TurnKey
    captured_at: datetime.datetime
    agent_version_id: str | None = None
    knowledge: bytes | None = None
    prompt: Prompt | None = None
    response: str | bytes | None = None
    reasoning: str | bytes | None = None
    decision: bytes | None = None
    unsent: bytes | None = None
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
    policy: str | None = None
    rewritten: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    client_id: str | None = None
    sequence: int | None = None
    losses: Mapping[str, int] = field(default_factory=dict)
    run: RunKey | None = None

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

    def without(self, *fields: str) -> "TurnRecord":
        """The same record without these fields, which it then names as cut: for what is too large to keep."""
        emptied: dict[str, Any] = {name: {} if name == "artifacts" else None for name in fields}
        emptied |= {name: () for name in fields if name in ("attempts", "adjustments")}
        return replace(self, cut=(*self.cut, *fields), **emptied)

    def with_envelope(self, envelope: bytes | None) -> "TurnRecord":
        """The same record with its prompt's envelope put back (or marked as missing)."""
        if self.prompt is None or self.prompt.env_hash is None:
            return self
        return replace(self, prompt=replace(self.prompt, envelope=envelope))


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One row of the inference ledger: a real turn or a fallback, tokens summed over its attempts.

    Unknown tokens and costs are None, never 0. ``cost_micros`` counts millionths of the currency.
    ``latency_ms`` is the wait for the model, whole milliseconds, all attempts together.
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
    latency_ms: int | None = None
    attempts: int = 1
    is_fallback: bool = False
    fallback_reason: str | None = None
    is_clamped: bool = False
    is_redacted: bool = False
    action: str | None = None
    amount: Amount = None
    usage: bytes | None = None


def sent_action(messages: Sequence[object]) -> tuple[str, object] | None:
    """The (action, amount) of the last message that states a string under ``action``.

    A message is a mapping, or text or bytes that hold one as JSON, as a socket's messages do.
    """
    for message in reversed(messages):
        stated = _read(message) if isinstance(message, str | bytes) else message
        if isinstance(stated, dict) and isinstance(stated.get("action"), str):
            return stated["action"], stated.get("amount")
    return None


def _read(message: str | bytes) -> object:
    """A message that is JSON, or None. Anything else a socket may carry states no action."""
    if len(message) > _LONGEST_MESSAGE:
        return None
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


def differs(parsed: tuple[str, object], sent: tuple[str, object] | None) -> bool:
    """Whether the sent action is another than the parsed one.

    An amount that was never parsed cannot be contradicted: ``call`` and ``call 60`` agree.
    """
    if sent is None or parsed[0] != sent[0]:
        return True
    return parsed[1] is not None and parsed[1] != sent[1]
