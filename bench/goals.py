"""What SDK and server are meant to cost, beside what was measured in this run: one line a goal, met or missed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from bench.jobs import Result
from bench.parts import events, hand, ingest, page, promote, recent
from bench.recorders import BARE, CAPTURE, RECORDERS
from bench.table import Part, markdown

_HEADERS = ("measure", "goal", "measured", "")


@dataclass(frozen=True, slots=True)
class Goal:
    """One line: the largest (or, with ``at_least``, smallest) value that is good enough, and the value."""

    measure: str
    limit: float
    value: float
    unit: str = ""
    at_least: bool = False

    def row(self) -> tuple[str, ...]:
        """As a line of the table."""
        met = self.value >= self.limit if self.at_least else self.value <= self.limit
        sign = "≥" if self.at_least else "≤"
        decimals = 2 if self.limit < 10 else 1 if self.limit < 100 else 0  # 15 is not 15.2
        said = f"{self.value:,.{decimals}f}"
        return (
            self.measure,
            f"{sign} {self.limit:,g}{self.unit}",
            f"{said}{self.unit}",
            "met" if met else "missed",
        )


def goals(measured: Mapping[str, Part]) -> str:
    """The table of all goals that this run says something about; empty if none."""
    rows = [goal.row() for name, part in measured.items() for goal in _OF[name](part)]
    return f"## The goals\n\n{markdown(_HEADERS, rows)}\n" if rows else ""


def _on_thread(part: Part) -> Iterator[Goal]:
    every = {name: _of(part, name) for name in (CAPTURE, BARE, "otel", "langfuse")}
    ours = every[CAPTURE]
    if not ours:
        return
    for name, limit in ((BARE, 1.5), ("otel", 1 / 3), ("langfuse", 1 / 7)):
        pairs = list(zip(ours, every[name], strict=False))
        if pairs:
            ratio = median(mine.p50 / other.p50 for mine, other in pairs)
            yield Goal(f"on the turn's thread, p50 : {RECORDERS[name].title}", round(limit, 2), ratio)
    yield Goal("on the turn's thread, p99", 250, median(each.p99 for each in ours), " us")
    yield Goal("on the turn's thread, worst of all", 1_000, max(each.worst for each in ours), " us")
    yield Goal("process CPU a turn", 600, median(each.cpu for each in ours), " us")


def _down(part: Part) -> Iterator[Goal]:
    for row in part.rows:
        if row[0] == RECORDERS[CAPTURE].title and row[1] != "up":
            yield Goal(f"store {row[1]}, p50 : its own when up", 1.2, float(row[3].split()[0]))
            yield Goal(
                f"store {row[1]}, exit: 2 s of flush, and the end of the process", 2.5, float(row[8]), " s"
            )


def _memory(part: Part) -> Iterator[Goal]:
    for row in part.rows:
        if row[0] == RECORDERS[CAPTURE].title:
            for server, cell in zip(part.headers[1:], row[1:], strict=True):
                yield Goal(f"memory a turn, {server}", 2_000, _number(cell), " B")


def _throughput(part: Part) -> Iterator[Goal]:
    ours = _of(part, "capture-transport")
    if ours:
        rate = median(each.turns_a_second for each in ours)
        yield Goal("into Redis, the transport alone, turns a second", 10_000, rate, at_least=True)


def _events(part: Part) -> Iterator[Goal]:
    for name, row in zip(events.NAMES, part.rows, strict=True):
        if name != events.CALL:
            yield Goal(f"{row[0]}, p50 on its thread, an event", 150, _number(row[2]), " us")
            yield Goal(f"{row[0]}, in the buffer, an event", 1_000, _number(row[6]), " B")


def _hand(part: Part) -> Iterator[Goal]:
    for name in (hand.BUFFER, hand.PINNED):
        if mine := _of(part, name):
            yield Goal(f"{name}, p50", 15, median(each.p50 for each in mine) / 1_000, " ms")


def _page(part: Part) -> Iterator[Goal]:
    sizes = {name: median(each.size for each in _of(part, name)) for name in page.PAGES if _of(part, name)}
    if mine := _of(part, page.HAND):
        yield Goal(f"{page.HAND}, p50", 40, median(each.p50 for each in mine) / 1_000, " ms")
        yield Goal(f"{page.HAND}, compressed", 60, sizes[page.HAND] / 1_000, " KB")
        if page.HAND_OF_LARGE in sizes:
            ratio = sizes[page.HAND_OF_LARGE] / sizes[page.HAND]
            yield Goal(f"{page.HAND_OF_LARGE}, size : with prompts of 20 KB", 1.05, ratio)
    for name in (page.PROMPT, page.TEXT, page.RUN):
        if mine := _of(part, name):
            yield Goal(f"{name}, first view, worst of all", 2, max(each.worst for each in mine) / 1e6, " s")


def _promote(part: Part) -> Iterator[Goal]:
    if mine := _of(part, promote.KEEPING):
        yield Goal("keeping a hand, p50", 40, median(each.p50 for each in mine) / 1_000, " ms")
        yield Goal("kept, on disk a turn", 6_144, _number(part.rows[0][3]), " B")


def _recent(part: Part) -> Iterator[Goal]:
    most = max(recent.SIZES)
    for name in (recent.FIRST, recent.DEEP):
        if mine := _of(part, f"{name} at {most:,} rows"):
            small = _of(part, f"{name} at {min(recent.SIZES):,} rows")
            value = median(each.p50 for each in mine) / 1_000
            yield Goal(f"recent hands, {name} of {most:,} rows, p50", 15, value, " ms")
            ratio = median(one.p50 / other.p50 for one, other in zip(mine, small, strict=False))
            yield Goal(f"recent hands, {name}: of {min(recent.SIZES):,} rows", 2, ratio)


def _ingest(part: Part) -> Iterator[Goal]:
    for name in (ingest.IDENTITY, ingest.GZIP):
        if mine := _of(part, name):
            rate = median(each.turns_a_second for each in mine)
            yield Goal(f"by HTTP, {name}, a second", 2_000, rate, at_least=True)


def _number(cell: str) -> float:
    return float(cell.replace(",", ""))


def _of(part: Part, name: str) -> list[Result]:
    return [each for each in part.results if each.recorder == name and each.error is None]


_OF: Final[Mapping[str, Callable[[Part], Iterator[Goal]]]] = {
    "on-thread": _on_thread,
    "down": _down,
    "memory": _memory,
    "throughput": _throughput,
    "events": _events,
    "hand": _hand,
    "page": _page,
    "promote": _promote,
    "recent": _recent,
    "ingest": _ingest,
}
