"""What is counted and timed, for Prometheus. Labels hold no ids: their number would grow with the traffic.

A caller says in one line what happened; ``exposition`` is the text that Prometheus reads. With several worker
processes each writes its figures to a file of the folder that ``serve`` prepared, and whoever is asked adds them up.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Final

from django.conf import settings
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from capture import stores
from capture.merge import HandView
from capture.stores import StoreSilent

# A pinned hand, a prompt of 10 MB and a store that is given up after two seconds all fall between these.
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

ACCESS_UNSTORED = Counter(
    "agent_capture_access_unstored", "Lines of the access log that went to the structured log alone"
)
_INGESTED = Counter("agent_capture_ingested", "Items that came by HTTP", ["kind", "status"])
_READS = Counter("agent_capture_reads", "Reads of hands and prompts", ["route", "outcome"])
_PINS = Counter("agent_capture_pins", "Pins by what they did", ["status"])
_PINNED_TURNS = Counter("agent_capture_pinned_turns", "Turns that pins made durable")
_RUNS_KEPT = Counter("agent_capture_runs_kept", "Keepings of runs by what they did", ["status"])
_KEPT_EVENTS = Counter("agent_capture_kept_events", "Events of runs that these made durable")
_MISSING = Counter("agent_capture_missing_turns", "Missing turns that reads saw, each time anew", ["reason"])
_UNVERIFIED = Counter("agent_capture_prompts_unverified", "Prompts that reads could not verify", ["status"])
_REQUESTS = Histogram(
    "agent_capture_request_seconds",
    "How long requests took, until the answer left Django",
    ["route", "method", "status_class"],
    buckets=_SECONDS,
)


def count_ingested(kind: str, statuses: Iterable[str]) -> None:
    """Items of a batch; ``kind`` is ``turn`` or ``charge``, a status is what the answer says of one item."""
    for status in statuses:
        _INGESTED.labels(kind, status).inc()


def count_read(route: str, outcome: str, *, missing: Iterable[str] = (), prompts: Iterable[str] = ()) -> None:
    """One read: the reasons of the turns that it found missing, the status of each prompt that it hashed.

    ``outcome`` is the state of the hand that was read, or one word where there is no hand.
    """
    _READS.labels(route, _word(outcome)).inc()
    for reason in missing:
        _MISSING.labels(_word(reason)).inc()
    for status in prompts:
        if _word(status) != "verified":
            _UNVERIFIED.labels(_word(status)).inc()


def count_view(route: str, view: HandView) -> None:
    """One read of a hand, or of an agent's part of it."""
    count_read(
        route,
        view.standing.state or "nothing_known",
        missing=[each.reason for each in view.missing],
        prompts=[turn.prompt_status for turn in view.turns],
    )


def count_pin(status: str, inserted: int) -> None:
    """One pin and the turns that it made durable; ``failed`` where a store was down or damage was found."""
    _PINS.labels(_word(status)).inc()
    _PINNED_TURNS.inc(inserted)


def count_run_kept(status: str, inserted: int) -> None:
    """The same of a run and its events."""
    _RUNS_KEPT.labels(_word(status)).inc()
    _KEPT_EVENTS.inc(inserted)


def time_request(route: str, method: str, status: int, seconds: float) -> None:
    """One request. ``route`` is a route's name, never a path; ``method`` one of ``known_method``."""
    _REQUESTS.labels(route, method, f"{status // 100}xx").observe(seconds)


def known_method(given: str | None) -> str:
    """The method, or ``OTHER`` for one that a caller made up: labels must not grow with what callers send."""
    return given if given in _METHODS else "OTHER"


def exposition() -> bytes:
    """Every figure, in Prometheus's text format: those of all workers, and what the stores say now."""
    counted: CollectorRegistry = REGISTRY
    if settings.CAPTURE_METRICS_FOLDER:
        counted = CollectorRegistry()
        MultiProcessCollector(counted, path=settings.CAPTURE_METRICS_FOLDER)  # type: ignore[no-untyped-call]
    asked = CollectorRegistry()
    asked.register(StoreCollector())
    return generate_latest(counted) + generate_latest(asked)


class StoreCollector(Collector):
    """Asks both stores when it is scraped, for a bounded time. Of one that is down it says only that."""

    def collect(self) -> Iterator[Metric]:
        """The figures of both stores."""
        yield from _buffer()
        yield GaugeMetricFamily(
            "agent_capture_durable_up", "1 when Postgres answers", value=_is_up(stores.postgres_answers)
        )


def _buffer() -> Iterator[Metric]:
    try:
        facts = stores.within(stores.redis_facts)
    except StoreSilent:
        yield GaugeMetricFamily("agent_capture_buffer_up", "1 when the capture Redis answers", value=0)
        return
    gauges = {
        "up": ("1 when the capture Redis answers", 1),
        "used_memory_bytes": ("Memory that the capture Redis uses", facts.used_memory),
        "maxmemory_bytes": ("Memory that it may use; 0 is without a bound", facts.maxmemory),
        "keys": ("Keys that it holds", facts.keys),
        "keys_without_ttl": ("Keys that will never expire: not one is ours", facts.keys_without_ttl),
    }
    for name, (text, value) in gauges.items():
        yield GaugeMetricFamily(f"agent_capture_buffer_{name}", text, value=value)
    counters = {"evicted": ("Keys evicted since it started", facts.evicted)}
    counters["expired"] = ("Keys expired since it started", facts.expired)
    for name, (text, value) in counters.items():
        yield CounterMetricFamily(f"agent_capture_buffer_{name}_keys", text, value=value)


def _is_up(ask: Callable[[], None]) -> int:
    try:
        stores.within(ask)
    except StoreSilent:
        return 0
    return 1


def _word(label: str) -> str:
    """The bare word of an enumeration's member: a label is compared by its text."""
    return str(label.value) if isinstance(label, Enum) else label
