"""Keep a run: what the buffer has of it becomes durable, with every artifact that its events refer to.

In one transaction, read back before it commits. Idempotent, safe with two at once, and repeatable: a later keeping
completes an earlier one, and replaces an artifact that was damaged at rest.
"""

from dataclasses import dataclass

from django.db import transaction

from capture import metrics
from capture.access import log_run_access
from capture.buffer import BufferUnavailable
from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable, read_clock
from capture.models import AccessAction
from capture.pins.pin import PinDamaged, PinStatus
from capture.runs import heads, order
from capture.runs.budget import spend
from capture.runs.cold import KeptRows, kept_run
from capture.runs.hot import BufferedRun, RunBuffer
from capture.runs.order import HeldEvent
from capture.runs.writing import Times, Written, lock_run, write_run
from capture_sdk.runs.records import RunKey


@dataclass(frozen=True, slots=True)
class KeptRun:
    """The outcome: events inserted now, durable events afterwards, ``bytes`` added.

    ``missing`` counts what is known to belong to the run and is not durable: artifacts, numbered events that did not
    arrive, and events that cannot be read.
    """

    status: PinStatus
    inserted: int
    total: int
    missing: int
    bytes: int = 0


def keep_run(key: RunKey, *, by: str, why: str = "asked", budget: int | None = None) -> KeptRun:
    """Keep a run; ``by`` is the person, key or command that asked, ``budget`` the day's bytes for whatever rules keep.

    Raises OverBudget where the day's budget has no room for it; nothing is committed then.

    Raises StoresUnavailable when the buffer or the durable store does not answer: a store that is down is never an
    outcome. Raises PinDamaged when what was written reads back different; nothing is committed then.
    """
    try:
        kept = _keep(key, by, why, budget)
    except (StoresUnavailable, PinDamaged):
        metrics.count_run_kept("failed", 0)
        raise
    metrics.count_run_kept(kept.status, kept.inserted)
    log_run_access(AccessAction.KEEP_RUN, key, actor=by, detail=str(kept.status))
    return kept


def _keep(key: RunKey, by: str, why: str, budget: int | None) -> KeptRun:
    try:
        buffer = RunBuffer.connect()
        hot = buffer.run(key)
        return ask(lambda: _write(key, hot, buffer, by, why, budget))
    except BufferUnavailable as exc:
        raise StoresUnavailable("the buffer is unavailable") from exc
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc


@transaction.atomic
def _write(
    key: RunKey, hot: BufferedRun, buffer: RunBuffer, by: str, why: str, budget: int | None
) -> KeptRun:
    lock_run(key)
    kept = kept_run(key)
    if not any(each.event is not None for each in (*hot.events, *kept.events)):
        return KeptRun(PinStatus.NOTHING_TO_CAPTURE, 0, 0, len(hot.events))
    events = _best(hot, kept)
    if kept.row is not None:
        again = [each.event_id for each in kept.events if each.event is None]
        kept.row.events.filter(
            event_id__in=[each for each in again if events[each].event is not None]
        ).delete()
    written = write_run(key, list(events.values()), buffer.artifacts, _times(hot, kept), by=by, why=why)
    if budget is not None:
        spend(written.bytes, budget)
    return _outcome(written, list(events.values()))


def _best(hot: BufferedRun, kept: KeptRows) -> dict[str, HeldEvent]:
    """Each event once: what is kept stays, unless it cannot be read."""
    found = {each.event_id: each for each in hot.events}
    return found | {
        each.event_id: each for each in kept.events if each.event is not None or each.event_id not in found
    }


def _times(hot: BufferedRun, kept: KeptRows) -> Times:
    """When the run's first and last event arrived."""
    if hot.head is not None:
        return heads.time_of(hot.head.began_ms), heads.time_of(hot.head.at_ms)
    if kept.row is not None:
        return kept.row.began_at, kept.row.last_at
    now = read_clock().now
    return now, now


def _outcome(written: Written, events: list[HeldEvent]) -> KeptRun:
    unread = sum(each.event is None for each in events)
    numbered = sum(gap.last - gap.first + 1 for gap in order.gaps(order.in_order(events)))
    return KeptRun(
        PinStatus.PINNED if written.inserted else PinStatus.ALREADY_PINNED,
        written.inserted,
        written.total,
        len(written.missing) + unread + numbered,
        written.bytes,
    )
