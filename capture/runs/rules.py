"""Keep runs by rule: those of a status, those with events of a kind, and a sample, within a daily budget.

Safe to repeat, as often as a timer does: a run that went on meanwhile is completed, one that is kept costs a look.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from capture.buffer import BufferUnavailable
from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable, read_clock
from capture.pins.pin import PinDamaged, PinStatus
from capture.runs import budget, heads
from capture.runs.budget import OverBudget
from capture.runs.cold import kept_heads
from capture.runs.hot import RunBuffer
from capture.runs.keeping import KeptRun, keep_run
from capture.runs.run import RunHead, RunState, RunStatus
from capture_sdk.runs.records import RunKey


class Because(IntEnum):
    """Why a rule wants a run. Where the budget has no room for all, the first of these go first."""

    STATUS = 0
    KIND = 1
    SAMPLE = 2


@dataclass(frozen=True, slots=True)
class Rule:
    """Which runs are kept: those of which any of these holds. ``sample`` is a share of all runs, from 0 to 1."""

    statuses: frozenset[RunStatus] = frozenset()
    kinds: tuple[str, ...] = ()
    sample: float = 0.0
    agents: frozenset[str] | None = None

    def because(self, head: RunHead) -> Because | None:
        """Why it wants this run, if it does."""
        if head.status in self.statuses:
            return Because.STATUS
        if any(head.counts.get(kind) for kind in self.kinds):
            return Because.KIND
        return Because.SAMPLE if is_sampled(head.key, self.sample) else None


@dataclass(slots=True)
class Ruled:
    """What a rule did: ``wanted`` runs by why, ``kept`` by outcome, ``left_out`` those not kept, each with its reason.

    ``failure`` is set where a store did not answer, and not all was done.
    """

    looked_at: int = 0
    wanted: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    events: int = 0
    bytes: int = 0
    missing: int = 0
    left_out: list[tuple[RunKey, str]] = field(default_factory=list)
    failure: str | None = None


def keep_by_rule(
    rule: Rule,
    *,
    most: int | None,
    by: str,
    dry_run: bool = False,
    told: Callable[[int], object] = lambda _: None,
) -> Ruled:
    """Keep every run in the buffer that the rule wants, at most ``most`` bytes a day, those that expire first first.

    ``told`` hears the runs that were looked at. A store that does not answer ends it: what was done until then is said.
    """
    done = Ruled()
    try:
        wanted = sorted(_wanted(rule, done, told))
        done.wanted.update(because.name.lower() for because, _, _ in wanted)
        for because, _, key in wanted if not dry_run else ():
            _keep(key, because, most, by, done)
    except StoresUnavailable as exc:
        done.failure = str(exc)
    except BufferUnavailable:
        done.failure = "the buffer is unavailable"
    except DurableUnavailable:
        done.failure = "the durable store is unavailable"
    return done


def is_sampled(key: RunKey, share: float) -> bool:
    """Whether a run is in the sample: the same for everybody, and at every time."""
    digest = hashlib.sha256(repr((key.agent_id, key.run_id)).encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def _wanted(
    rule: Rule, done: Ruled, told: Callable[[int], object]
) -> Iterator[tuple[Because, float, RunKey]]:
    """The runs that are wanted and are not kept whole, with why and when they expire."""
    buffer = RunBuffer.connect()
    seen: set[RunKey] = set()
    for agent_id in buffer.agent_names():
        for keys in buffer.runs_of(agent_id) if rule.agents is None or agent_id in rule.agents else ():
            found = _heads(buffer, [key for key in keys if key not in seen], rule.kinds)
            seen.update(head.key for head in found)
            done.looked_at += len(found)
            told(len(found))
            yield from _judged(rule, found)


def _judged(rule: Rule, found: Sequence[RunHead]) -> Iterator[tuple[Because, float, RunKey]]:
    for head in found:
        because = rule.because(head)
        if because is not None and head.state is not RunState.KEPT and head.expires_at is not None:
            yield because, head.expires_at.timestamp(), head.key


def _heads(buffer: RunBuffer, keys: Sequence[RunKey], kinds: Sequence[str]) -> list[RunHead]:
    live = {key: hot for key, hot in buffer.heads(keys, more=kinds).items() if hot is not None}
    rows = ask(lambda: kept_heads(list(live))) if live else {}
    now = read_clock().now
    return [
        heads.head_of(key, hot, row, heads.state_of(hot, row, buffer_ok=True), now=now)
        for key, hot in live.items()
        for row in [rows.get(key)]
    ]


def _keep(key: RunKey, because: Because, most: int | None, by: str, done: Ruled) -> None:
    try:
        if most is not None and ask(budget.spent) >= most:
            raise OverBudget
        outcome = keep_run(key, by=by, why=f"rule: {because.name.lower()}", budget=most)
    except OverBudget:
        done.left_out.append((key, "over_budget"))
    except PinDamaged:
        done.left_out.append((key, "damaged"))
    else:
        _count(key, outcome, done)


def _count(key: RunKey, outcome: KeptRun, done: Ruled) -> None:
    done.kept[str(outcome.status)] += 1
    done.events += outcome.inserted
    done.bytes += outcome.bytes
    done.missing += outcome.missing
    if outcome.status is PinStatus.NOTHING_TO_CAPTURE:
        done.left_out.append((key, "gone"))
