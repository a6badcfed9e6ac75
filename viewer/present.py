"""What the templates show, prepared: they place things, they compute nothing."""

import datetime
import hashlib
import itertools
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, TypeVar

from capture.absence import MissingTurn
from capture.limits import SHOWN_ITEM, SHOWN_ITEMS, SHOWN_TEXT
from capture.merge import CapturedTurn, HandView
from capture_sdk.freeze import jsonable, unpack
from capture_sdk.records import Attempt, Charge, TurnKey, TurnRecord
from capture_sdk.usage import TokenCounts, token_counts
from viewer.addresses import turn_query

COLOURS: Final = 8
Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a text and its true size in characters."""

    text: str | bytes
    size: int

    @property
    def is_cut(self) -> bool:
        """Whether there is more than is shown."""
        return self.size > len(self.text)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing an agent knew, or one message that left: its name, a hint of it, and its text."""

    name: str
    hint: str
    body: Excerpt


@dataclass(frozen=True, slots=True)
class Listed(Generic[Entry]):
    """The first of some entries, and how many there are in all."""

    entries: list[Entry]
    total: int

    @property
    def left(self) -> int:
        """How many are not listed."""
        return self.total - len(self.entries)


@dataclass(frozen=True)
class Row:
    """One action index of one agent, as the strip, the list and the stream show it.

    Exactly one of ``turn``, ``fallback`` and ``missing`` is set.
    """

    key: TurnKey
    colour: int
    turn: CapturedTurn | None = None
    fallback: Charge | None = None
    missing: MissingTurn | None = None

    @cached_property
    def query(self) -> str:
        """The query string that names the row's turn."""
        return turn_query(self.key)

    @cached_property
    def anchor(self) -> str:
        """The row's place on the page, in characters that need no escaping."""
        return f"turn-{self.key.action_index}-{hashlib.sha256(self.key.agent_id.encode()).hexdigest()[:16]}"

    @cached_property
    def kind(self) -> str:
        """captured, clamped, fallback or missing."""
        if self.turn is not None:
            return "clamped" if self.turn.is_clamped else "captured"
        return "fallback" if self.fallback is not None else "missing"

    @property
    def record(self) -> TurnRecord | None:
        """What was captured, if it can be read."""
        return self.turn.record if self.turn is not None else None

    @property
    def charge(self) -> Charge | None:
        """The ledger's row, where nothing was captured."""
        return self.missing.charge if self.missing is not None else self.fallback

    @cached_property
    def action(self) -> str:
        """In a few words: what was parsed, and what left where that differs."""
        if self.record is None:
            return (
                _action(self.charge.action, self.charge.amount) if self.charge is not None else "unreadable"
            )
        parsed = _action(self.record.action, self.record.amount)
        if self.kind != "clamped" and self.record.action is not None:
            return parsed
        sent = self.record.sent
        if self.kind != "clamped":
            return _action(*(sent or (None, None)))
        return f"{parsed} → {_action(*sent) if sent else 'nothing'}"

    @property
    def at(self) -> datetime.datetime | None:
        """When it was captured, or else charged."""
        if self.record is not None:
            return self.record.captured_at
        return self.charge.charged_at if self.charge is not None else None

    @property
    def cost_micros(self) -> int | None:
        """What the inference cost, as the record or else the ledger says."""
        source = self.record or self.charge
        return source.cost_micros if source is not None else None

    @cached_property
    def tokens(self) -> TokenCounts:
        """What the provider counted for the answer."""
        usage = self.record.usage if self.record is not None else None
        return token_counts(None if usage is None else unpack(usage))

    @property
    def marks(self) -> int:
        """How many values were redacted."""
        return sum(self.record.redactions.values()) if self.record is not None else 0

    @cached_property
    def prompt_bytes(self) -> int | None:
        """The size of the whole prompt."""
        prompt = self.record.prompt if self.record is not None else None
        whole = prompt.whole() if prompt is not None else None
        return None if whole is None else len(whole)

    @cached_property
    def known(self) -> object:
        """What the agent knew, thawed; None when that was not captured."""
        frozen = self.record.knowledge if self.record is not None else None
        return None if frozen is None else unpack(frozen)

    @cached_property
    def knew(self) -> Listed[Item] | None:
        """What the agent knew, item by item; None when that was not captured."""
        if self.record is None or self.record.knowledge is None:
            return None
        known = self.known
        return _listed(known.items() if isinstance(known, dict) else [("knowledge", known)])

    @cached_property
    def sent(self) -> Listed[Item] | None:
        """The messages that left; None when the decision was not captured."""
        messages = self.record.messages if self.record is not None else None
        return None if messages is None else _listed(_counted("message", messages))

    @cached_property
    def unsent(self) -> Listed[Item]:
        """The messages whose send failed, each with what stopped it."""
        frozen = self.record.unsent if self.record is not None else None
        failed = unpack(frozen) if frozen is not None else []
        return _listed(_counted("unsent", failed if isinstance(failed, list) else [failed]))

    @cached_property
    def response(self) -> Excerpt | None:
        """The raw answer; None when it was not captured."""
        return _excerpt(self.record.response if self.record is not None else None, SHOWN_TEXT)

    @cached_property
    def reasoning(self) -> Excerpt | None:
        """What the provider returned beside the answer."""
        return _excerpt(self.record.reasoning if self.record is not None else None, SHOWN_TEXT)

    @cached_property
    def attempts(self) -> Listed[tuple[Attempt, list[tuple[str, Excerpt]]]]:
        """Every call of the turn with what it answered; none where the one call gave the response."""
        attempts = self.record.attempts if self.record is not None else ()
        if all(each.status == "ok" for each in attempts) and len(attempts) < 2:
            return Listed([], 0)
        return Listed([(each, _answers(each)) for each in attempts[:SHOWN_ITEMS]], len(attempts))


def rows(view: HandView) -> list[Row]:
    """Captured turns, fallbacks and missing ones in one order: action index, then agent."""
    colours = {agent: place % COLOURS for place, agent in enumerate(view.agents)}
    every = [Row(turn.key, colours[turn.key.agent_id], turn=turn) for turn in view.turns]
    every += [Row(each.key, colours[each.key.agent_id], fallback=each) for each in view.fallbacks]
    every += [Row(each.key, colours[each.key.agent_id], missing=each) for each in view.missing]
    return sorted(every, key=lambda row: (row.key.action_index, row.key.agent_id))


def completeness(view: HandView) -> str:
    """One sentence that says what there is, what is missing and what could not be asked."""
    parts = [f"{len(view.turns)} captured"]
    if view.fallbacks:
        parts.append(f"{len(view.fallbacks)} fallback")
    parts += [f"{count} missing ({reason})" for reason, count in _reasons(view.missing)]
    parts += [f"{gap.turns} more before #{gap.before} ({_words(gap.reason)})" for gap in view.gaps]
    agents = f"{len(view.agents)} agent{'' if len(view.agents) == 1 else 's'}"
    if view.expected is None:
        return f"{agents} · {', '.join(parts)} · the ledger could not be asked, so more may be missing"
    total = view.expected.turns + view.expected.fallbacks
    return f"{agents} · {total} inferences in the ledger: {', '.join(parts)}"


def span(every: Sequence[Row]) -> tuple[datetime.datetime, datetime.datetime] | None:
    """The first and the last moment that the rows tell of; None where they tell of none."""
    times = [each.at for each in every if each.at is not None]
    return (min(times), max(times)) if times else None


def chosen(every: Sequence[Row], key: TurnKey | None) -> Row | None:
    """The row to show in full: the one that is named, else the first that stands out, else the first captured."""
    if key is not None:
        return next((row for row in every if row.key == key), None)
    odd = (row for row in every if row.kind == "clamped")
    captured = (row for row in every if row.turn is not None)
    return next(odd, None) or next(captured, None) or next(iter(every), None)


def _reasons(missing: Sequence[MissingTurn]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for each in missing:
        counts[each.reason] = counts.get(each.reason, 0) + 1
    return [(_words(reason), count) for reason, count in sorted(counts.items())]


def _words(reason: str) -> str:
    return reason.replace("_", " ")


def _answers(attempt: Attempt) -> list[tuple[str, Excerpt]]:
    found = {"reasoning": attempt.reasoning, "answer": attempt.response}
    shown = ((name, _excerpt(text, SHOWN_ITEM)) for name, text in found.items())
    return [(name, excerpt) for name, excerpt in shown if excerpt is not None]


def _counted(word: str, values: Iterable[object]) -> list[tuple[str, object]]:
    return [(f"{word} {place}", value) for place, value in enumerate(values, start=1)]


def _listed(pairs: Collection[tuple[object, object]]) -> Listed[Item]:
    shown = itertools.islice(pairs, SHOWN_ITEMS)
    return Listed([_item(str(name), value) for name, value in shown], len(pairs))


def _item(name: str, value: object) -> Item:
    text = json.dumps(jsonable(value), ensure_ascii=False, indent=2)
    return Item(name, _hint(value), Excerpt(text[:SHOWN_ITEM], len(text)))


def _hint(value: object) -> str:
    if isinstance(value, list):
        return "[] captured, empty" if not value else f"{len(value)} items" if len(value) > 1 else "1 item"
    if isinstance(value, dict):
        return "{} captured, empty" if not value else _short(value)
    return _short(value)


def _short(value: object) -> str:
    text = json.dumps(jsonable(value), ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def _action(action: str | None, amount: object) -> str:
    if action is None:
        return "no action"
    return action if amount is None else f"{action} {amount if isinstance(amount, str) else _short(amount)}"


def _excerpt(text: str | bytes | None, limit: int) -> Excerpt | None:
    return None if text is None else Excerpt(text[:limit], len(text))
