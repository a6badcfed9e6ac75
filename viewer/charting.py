"""The charts page: each measure of the ledger over time as a table, from which the page's script draws its lines."""

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse, QueryDict

from capture.auth import SEE
from capture.charts import By, Cell, Chart, ChartTooLong, Series, Span, read_chart
from capture_sdk.errors import IdError
from capture_sdk.keys import checked_id
from viewer.access import bad_address, framed, staff_page
from viewer.templatetags.capture_pages import grouped, money, percent, plain, seconds

Number = int | float | None

SPANS: Final = {
    Span.HOUR: "1 hour, by minute",
    Span.DAY: "24 hours, by hour",
    Span.WEEK: "7 days, by 6 hours",
    Span.MONTH: "30 days, by day",
}
BYS: Final = {By.AGENT: "agent", By.VERSION: "agent and version"}


@dataclass(frozen=True, slots=True)
class Unit:
    """How a number is written; ``name`` tells the script what its axis counts."""

    name: str
    write: Callable[[Number], str]


COUNT: Final = Unit("count", grouped)
SHARE: Final = Unit("share", percent)
MONEY: Final = Unit("micros", money)
WAIT: Final = Unit("milliseconds", seconds)


@dataclass(frozen=True, slots=True)
class Measure:
    """What one chart shows of a cell; ``stated`` counts the charges that say it, where not all need to."""

    name: str
    about: str
    unit: Unit
    read: Callable[[Cell], Number]
    stated: Callable[[Cell], int] | None = None


MEASURES: Final = (
    Measure("Turns", "with a model's answer", COUNT, lambda cell: cell.turns),
    Measure("Fallback rate", "of all inferences", SHARE, lambda cell: cell.fallback_rate),
    Measure("Clamp rate", "of the turns", SHARE, lambda cell: cell.clamp_rate),
    Measure("Cost", "all attempts", MONEY, lambda cell: cell.cost_micros, lambda cell: cell.with_cost),
    Measure(
        "Latency, p50",
        "half waited no longer",
        WAIT,
        lambda cell: cell.latency_p50,
        lambda cell: cell.with_latency,
    ),
    Measure(
        "Latency, p95",
        "95 % waited no longer",
        WAIT,
        lambda cell: cell.latency_p95,
        lambda cell: cell.with_latency,
    ),
    Measure("Tokens in", "prompts", COUNT, lambda cell: cell.input_tokens, lambda cell: cell.with_input),
    Measure("Tokens out", "answers", COUNT, lambda cell: cell.output_tokens, lambda cell: cell.with_output),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One number: exact for the script, empty where it is not known, and as it is read."""

    exact: str
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of a chart."""

    measure: Measure
    chart: Chart

    def rows(self) -> Iterator[tuple[datetime.datetime, list[Shown]]]:
        """A bucket's beginning and each series' number in it."""
        for place, start in enumerate(self.chart.starts):
            yield start, [self._shown(self.measure.read(each.cells[place])) for each in self.chart.series]

    def lacking(self) -> int:
        """How many charges of the series do not state it."""
        if self.measure.stated is None:
            return 0
        cells = [cell for each in self.chart.series for cell in each.cells]
        return sum(cell.inferences for cell in cells) - sum(map(self.measure.stated, cells))

    def _shown(self, number: Number) -> Shown:
        return Shown("" if number is None else repr(number), self.measure.unit.write(number))


@dataclass(frozen=True, slots=True)
class Asked:
    """What the form says."""

    span: Span
    by: By
    agent_id: str | None


@staff_page(SEE)
def charts(request: HttpRequest) -> HttpResponse:
    """The ledger over time: eight measures, their lines and their numbers."""
    try:
        asked = _asked(request.GET)
    except IdError as exc:
        return bad_address(request, exc)
    context: dict[str, object] = {"asked": asked, "spans": SPANS.items(), "bys": BYS.items()}
    try:
        chart = read_chart(asked.span, asked.by, agent_id=asked.agent_id)
    except ChartTooLong as exc:
        context |= {"failed": exc}
    else:
        names = [_name(each, asked.by) for each in chart.series]
        context |= {"chart": chart, "names": names, "figures": [Figure(each, chart) for each in MEASURES]}
    return framed(request, "viewer/charts.html", context)


def _asked(given: QueryDict) -> Asked:
    """Read the form. Raises IdError naming the field, its value and what is wanted."""
    said = {name: given.get(name, "").strip() for name in ("range", "by", "agent")}
    for name, words in (("range", list(Span)), ("by", list(By))):
        if said[name] and said[name] not in words:
            raise IdError(f"{name.capitalize()} must be one of {', '.join(words)}, not {said[name][:40]!r}")
    return Asked(
        span=Span(said["range"] or Span.DAY),
        by=By(said["by"] or By.AGENT),
        agent_id=checked_id("Agent", said["agent"]) if said["agent"] else None,
    )


def _name(series: Series, by: By) -> str:
    if by is By.AGENT:
        return plain(series.agent_id)
    return f"{plain(series.agent_id)} · {'no version' if series.version is None else plain(series.version)}"
