"""The ledger over time: turns, fallbacks, clamps, cost, latency and tokens, by agent or by agent and version.

One statement adds it all up where the rows are. What no charge of a bucket states is None, never 0.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable, read_clock
from capture.limits import CHART_SECONDS, CHART_SERIES, CHART_SORT_MIB, ID_LENGTH

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class ChartTooLong(Exception):
    """The ledger has too many charges in this time to add them up while somebody waits."""


class Span(StrEnum):
    """How far back."""

    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"


class By(StrEnum):
    """What a series is of."""

    AGENT = "agent"
    VERSION = "version"  # of an agent


_STEPS: Final = {
    Span.HOUR: (datetime.timedelta(minutes=1), 60),
    Span.DAY: (datetime.timedelta(hours=1), 24),
    Span.WEEK: (datetime.timedelta(hours=6), 28),
    Span.MONTH: (datetime.timedelta(days=1), 30),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """What one series did in one bucket: real turns, fallbacks, and the sums of what their charges state.

    Costs are millionths of the currency, waits milliseconds; a percentile is a wait that did occur. ``with_…`` counts
    the charges that state each.
    """

    turns: int = 0
    fallbacks: int = 0
    clamped: int = 0
    cost_micros: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_p50: int | None = None
    latency_p95: int | None = None
    with_cost: int = 0
    with_input: int = 0
    with_output: int = 0
    with_latency: int = 0

    @property
    def inferences(self) -> int:
        """Turns and fallbacks."""
        return self.turns + self.fallbacks

    @property
    def fallback_rate(self) -> float | None:
        """Of all inferences; None where there were none."""
        return self.fallbacks / self.inferences if self.inferences else None

    @property
    def clamp_rate(self) -> float | None:
        """Of the real turns; None where there were none."""
        return self.clamped / self.turns if self.turns else None


NOTHING: Final = Cell()


@dataclass(frozen=True, slots=True)
class Series:
    """One agent's buckets, or one version's of it; ``version`` is None where charges name none, or it was not asked."""

    agent_id: str
    version: str | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """``starts`` are the moments at which the buckets begin, in UTC; the last one is not over yet.

    ``series`` are those with the most inferences, ``others`` how many more there are.
    """

    starts: tuple[datetime.datetime, ...]
    step: datetime.timedelta
    series: tuple[Series, ...]
    others: int


# Ranked in the same pass: with a thousand agents the twelve that are drawn are all that leaves Postgres. Names are
# compared as bytes, since millions are sorted for the percentiles.
_CELLS: Final = """
WITH cell AS (
    SELECT agent_id COLLATE "C" AS agent_id, {version} COLLATE "C" AS version,
           floor(extract(epoch FROM charged_at - %(since)s) / %(seconds)s)::int AS bucket,
           count(*) FILTER (WHERE NOT is_fallback) AS turns, count(*) FILTER (WHERE is_fallback) AS fallbacks,
           count(*) FILTER (WHERE is_clamped) AS clamped,
           sum(cost_micros) AS cost_micros, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
           percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY latency_ms) AS latency,
           count(cost_micros) AS with_cost, count(input_tokens) AS with_input, count(output_tokens) AS with_output,
           count(latency_ms) AS with_latency
    FROM agent_inference_charges
    WHERE charged_at >= %(since)s AND charged_at < %(until)s {agent}
    GROUP BY 1, 2, 3
), sized AS (
    SELECT *, sum(turns + fallbacks) OVER (PARTITION BY agent_id, version) AS size FROM cell
), ranked AS (
    SELECT *, dense_rank() OVER (ORDER BY size DESC, agent_id, version NULLS FIRST) AS place FROM sized
)
SELECT agent_id, version, bucket, (SELECT max(place) FROM ranked), turns, fallbacks, clamped, cost_micros, input_tokens,
       output_tokens, latency[1], latency[2], with_cost, with_input, with_output, with_latency
FROM ranked WHERE place <= %(most)s ORDER BY place, bucket
"""
_VERSION: Final = {By.AGENT: "NULL::text", By.VERSION: f"left(agent_version_id, {ID_LENGTH})"}


def read_chart(span: Span, by: By, *, agent_id: str | None = None) -> Chart:
    """Add the ledger up, of one agent alone if it is named.

    Raises ChartTooLong when Postgres does not come to an end in time, and StoresUnavailable when it does not answer.
    """
    step, count = _STEPS[span]
    now = read_clock().now
    last = now - (now - _EPOCH) % step
    starts = tuple(last - step * back for back in range(count - 1, -1, -1))
    agent = "" if agent_id is None else "AND agent_id = %(agent)s"
    statement = _CELLS.format(version=_VERSION[by], agent=agent)
    values: dict[str, Any] = {"since": starts[0], "until": last + step, "seconds": int(step.total_seconds())}
    values |= {"most": CHART_SERIES, "agent": agent_id}
    try:
        rows = ask(lambda: _in_time(statement, values))
    except DurableUnavailable as exc:
        raise StoresUnavailable("the durable store is unavailable") from exc
    return Chart(starts, step, _series(rows, count), max(rows[0][3] - CHART_SERIES, 0) if rows else 0)


def _in_time(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, true), set_config('work_mem', %s, true)",
                [f"{CHART_SECONDS * 1_000:.0f}ms", f"{CHART_SORT_MIB}MB"],
            )
            cursor.execute(statement, values)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows
    except OperationalError as exc:
        if isinstance(exc.__cause__, QueryCanceled):
            raise ChartTooLong(f"stopped after {CHART_SECONDS:g} s") from exc
        raise


def _series(rows: Sequence[tuple[Any, ...]], count: int) -> tuple[Series, ...]:
    """One series for each name, in the order of the rows; a bucket without a row has no charge."""
    found = []
    for (agent_id, version), own in groupby(rows, key=lambda row: (row[0], row[1])):
        cells = {row[2]: _cell(row[4:]) for row in own}
        found.append(Series(agent_id, version, tuple(cells.get(bucket, NOTHING) for bucket in range(count))))
    return tuple(found)


def _cell(values: Sequence[Any]) -> Cell:
    """Sums come as decimals."""
    known = (None if value is None else int(value) for value in values)
    return Cell(**{each.name: value for each, value in zip(fields(Cell), known, strict=True)})  # type: ignore[arg-type]
