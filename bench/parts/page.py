"""How long the server takes to make the pages of a hand, of a long prompt and of a long run, and how large they are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.clients import Request, ask, charge, page, send_all
from bench.jobs import Result
from bench.playing import LONG, RUN_EVENTS, TABLE, fill, prompt_bytes, record_run
from bench.rounds import good, results, rounds, timed
from bench.site import Site, site
from bench.staff import staff_cookie
from bench.table import Part, counts

HAND: Final = "hand page, prompts of 20 KB"
HAND_OF_LARGE: Final = "hand page, prompts of 1 MB"
PROMPT: Final = "prompt page, 10 MB"
TEXT: Final = "text page, 10 MB"
RUN: Final = f"run page, {RUN_EVENTS:,} events"
_MEGABYTE: Final = 1_000_000
_USUAL, _LARGE, _HUGE = 1, 2, 3  # the hands' numbers
_TURN: Final = f"tableId={TABLE}&handNumber={_HUGE}&agentId=agent-0&actionIndex=0"


@dataclass(frozen=True, slots=True)
class _Page:
    """A page, what its markup must say so that it is the page that is meant, and how often it is asked for."""

    request: Request
    says: str
    times: int


PAGES: Final[Mapping[str, _Page]] = {
    HAND: _Page(page(f"hand?tableId={TABLE}&handNumber={_USUAL}"), f"{LONG} captured", 60),
    HAND_OF_LARGE: _Page(page(f"hand?tableId={TABLE}&handNumber={_LARGE}"), f"{LONG} captured", 10),
    PROMPT: _Page(page(f"prompt?{_TURN}"), "VERIFIED", 10),
    TEXT: _Page(page(f"text?{_TURN}&part=prompt"), "bytes", 10),
    RUN: _Page(page("runs/run?agentId=agent-0&runId=long"), f"{RUN_EVENTS:,} events", 10),
}


def measure(reps: int) -> Part:
    """Every page once a repetition, beginning with another one each time, all of one server, by staff."""
    with site() as server:
        _fill(server)
        headers = server.headers | {"Cookie": staff_cookie(server), "Accept-Encoding": "gzip"}
        _check(server, headers)
        every = rounds(list(PAGES), reps, lambda name: _read(server, name, headers))
    return Part(
        title=f"Pages: a hand of {LONG} turns, a prompt of 10 MB, a run of {RUN_EVENTS:,} events, {reps} repetitions",
        headers=("over HTTP", "p50 ms", "p99 ms", "compressed KB"),
        rows=[_row(name, good(every, name)) for name in PAGES],
        notes=(
            "one member of staff, one kept connection on loopback, from the request's first byte to the answer's last; "
            "without the style and script, which a browser keeps",
            f"prompts of 20 KB: {prompt_bytes():,} B; one turn in full, the others in a line each",
        ),
        results=results(every),
    )


def _fill(server: Site) -> None:
    """Three hands in the buffer: of usual prompts, of large ones, and one turn of a huge one; and a long run."""
    charge(server, fill(server.buffer_url, [_USUAL], agents=1))
    charge(server, fill(server.buffer_url, [_LARGE], agents=1, more=_MEGABYTE))
    charge(server, fill(server.buffer_url, [_HUGE], agents=1, turns=1, more=10 * _MEGABYTE))
    record_run(server.buffer_url, "agent-0", "long")


def _check(server: Site, headers: Mapping[str, str]) -> None:
    """Every page says what it should."""
    plain = {name: value for name, value in headers.items() if name != "Accept-Encoding"}
    answers = send_all(server, [each.request for each in PAGES.values()], headers=plain)
    for (name, each), answer in zip(PAGES.items(), answers, strict=True):
        if each.says not in answer.decode():
            raise RuntimeError(f"{name}: {json.dumps(each.says)} is not on it")


def _read(server: Site, name: str, headers: Mapping[str, str]) -> Result:
    each = PAGES[name]
    return ask(server, name, [each.request] * (each.times + 10), headers=headers)


def _row(name: str, mine: list[Result]) -> tuple[str, ...]:
    return name, *timed(mine), counts(each.size / 1_000 for each in mine)
