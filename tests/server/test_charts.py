"""Charts add up the ledger as one would by hand; what is not known is a gap."""

import datetime
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from capture import charts
from capture.charts import NOTHING, By, Cell, Chart, ChartTooLong, Span, read_chart
from capture.hands import StoresUnavailable
from capture.ledger import record_charges
from capture.limits import CHART_SERIES
from capture_sdk import Charge, TurnKey
from tests.charges import charge, run_sql

pytestmark = pytest.mark.django_db

NOW = datetime.datetime(2024, 3, 31, 13, 45, 30, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
WIDTH = {Span.HOUR: HOUR / 60, Span.DAY: HOUR, Span.WEEK: 6 * HOUR, Span.MONTH: 24 * HOUR}
COUNT = {Span.HOUR: 60, Span.DAY: 24, Span.WEEK: 28, Span.MONTH: 30}


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def at(ago: datetime.timedelta, index: int, agent: str = "a", **fields: Any) -> Charge:
    return charge(index, agent, charged_at=NOW - ago, **fields)


def played(count: int) -> list[Charge]:
    """Charges of forty days, some fields of each unknown."""
    dice = random.Random(7)

    def maybe(most: int) -> int | None:
        return dice.randrange(most) if dice.random() < 0.8 else None

    return [
        Charge(
            key=TurnKey("t", 1, dice.choice("abc"), index),
            charged_at=NOW + HOUR - datetime.timedelta(seconds=dice.randrange(40 * 86_400)),
            agent_version_id=dice.choice([None, "v1", "v2"]),
            is_fallback=dice.random() < 0.1,
            is_clamped=dice.random() < 0.2,
            cost_micros=maybe(10**12),
            latency_ms=maybe(20_000),
            input_tokens=maybe(9_000),
            output_tokens=maybe(900),
        )
        for index in range(count)
    ]


def by_hand(every: list[Charge], span: Span, by: By) -> dict[tuple[str, str | None], list[Cell]]:
    """The same, without a database."""
    width, count = WIDTH[span].total_seconds(), COUNT[span]
    first = NOW.timestamp() // width - (count - 1)
    heaps: dict[tuple[str, str | None], list[list[Charge]]] = defaultdict(lambda: [[] for _ in range(count)])
    for each in every:
        place = int(each.charged_at.timestamp() // width - first)
        if 0 <= place < count:
            name = (each.key.agent_id, each.agent_version_id if by is By.VERSION else None)
            heaps[name][place].append(each)
    return {name: [cell(heap) for heap in cells] for name, cells in heaps.items()}


def cell(heap: list[Charge]) -> Cell:
    def known(name: str) -> list[int]:
        return sorted(value for each in heap if (value := getattr(each, name)) is not None)

    def at_rank(share: float, values: list[int]) -> int | None:
        return values[math.ceil(share * len(values)) - 1] if values else None

    cost, given, taken, waits = map(known, ("cost_micros", "input_tokens", "output_tokens", "latency_ms"))
    return Cell(
        turns=sum(not each.is_fallback for each in heap),
        fallbacks=sum(each.is_fallback for each in heap),
        clamped=sum(each.is_clamped for each in heap),
        cost_micros=sum(cost) if cost else None,
        input_tokens=sum(given) if given else None,
        output_tokens=sum(taken) if taken else None,
        latency_p50=at_rank(0.5, waits),
        latency_p95=at_rank(0.95, waits),
        with_cost=len(cost),
        with_input=len(given),
        with_output=len(taken),
        with_latency=len(waits),
    )


def cells(chart: Chart) -> dict[tuple[str, str | None], list[Cell]]:
    return {(each.agent_id, each.version): list(each.cells) for each in chart.series}


@pytest.fixture
def zones() -> Iterator[None]:
    yield
    run_sql("SET TIME ZONE 'UTC'")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "Europe/Berlin"])
@pytest.mark.parametrize("by", list(By))
@pytest.mark.parametrize("span", list(Span))
def test_the_sums_are_those_of_the_charges_in_every_zone(zones: None, span: Span, by: By, zone: str) -> None:
    """The day of ``NOW`` is one of 23 hours in Berlin."""
    every = played(1_500)
    record_charges(every)
    run_sql(f"SET TIME ZONE '{zone}'")
    chart = read_chart(span, by)
    assert cells(chart) == by_hand(every, span, by)
    assert [each.timestamp() % WIDTH[span].total_seconds() for each in chart.starts] == [0] * COUNT[span]
    assert chart.starts[-1] <= NOW < chart.starts[-1] + chart.step


def test_one_agent_is_asked_for_alone() -> None:
    every = played(300)
    record_charges(every)
    own = [each for each in every if each.key.agent_id == "b"]
    assert cells(read_chart(Span.WEEK, By.VERSION, agent_id="b")) == by_hand(own, Span.WEEK, By.VERSION)


def test_what_is_not_known_is_a_gap_and_what_is_nothing_is_zero() -> None:
    record_charges([at(HOUR, 1), at(HOUR, 2, is_fallback=True), at(2 * HOUR, 3, cost_micros=0, latency_ms=0)])
    (only,) = read_chart(Span.DAY, By.AGENT).series
    *_, before, stated, unknown, now = only.cells
    assert (before, now) == (NOTHING, NOTHING)
    assert (NOTHING.turns, NOTHING.fallback_rate, NOTHING.clamp_rate) == (0, None, None)
    assert (unknown.cost_micros, unknown.latency_p50, unknown.input_tokens) == (None, None, None)
    assert (unknown.turns, unknown.fallback_rate, unknown.clamp_rate) == (1, 0.5, 0)
    assert (stated.cost_micros, stated.latency_p50, stated.latency_p95) == (0, 0, 0)


def test_the_largest_are_drawn_and_the_others_counted() -> None:
    for place in range(CHART_SERIES + 3):
        record_charges([at(HOUR, index, f"agent-{place:02}") for index in range(place + 1)])
    chart = read_chart(Span.DAY, By.AGENT)
    assert [each.agent_id for each in chart.series] == [f"agent-{place:02}" for place in range(14, 2, -1)]
    assert chart.others == 3


def test_a_version_of_any_length_is_cut_as_elsewhere_and_none_is_one_of_its_own() -> None:
    record_charges([at(HOUR, 1, agent_version_id="v" * 5_000), at(HOUR, 2)])
    assert [each.version for each in read_chart(Span.DAY, By.VERSION).series] == [None, "v" * 200]


def test_an_empty_ledger_has_no_series() -> None:
    chart = read_chart(Span.MONTH, By.AGENT)
    assert (chart.series, chart.others, len(chart.starts)) == ((), 0, 30)


def test_what_takes_too_long_is_stopped_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "CHART_SECONDS", 0.05)
    monkeypatch.setattr(charts, "_CELLS", "SELECT pg_sleep(5) {version:.0}{agent:.0}")
    with pytest.raises(ChartTooLong, match=r"stopped after 0\.05 s"):
        read_chart(Span.DAY, By.AGENT)
    run_sql("SELECT 1")  # the connection goes on


def test_a_store_that_is_down_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object) -> None:
        raise OperationalError("no connection")

    monkeypatch.setattr(charts, "_in_time", down)
    with pytest.raises(StoresUnavailable):
        read_chart(Span.DAY, By.AGENT)
