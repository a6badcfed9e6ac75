"""Runs as a list, those that were active last first: what the buffer names, merged with what is kept.

A run that goes on moves to the front while somebody turns the pages.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from capture.hands import read_clock
from capture.limits import RUN_LIST_LOOKED
from capture.runs.asking import neither
from capture.runs.run import RunHead
from capture.runs.walking import BEGINNING, Place, Walk
from capture.runs.wanted import RunFilter
from capture_sdk.keys import encode_id

EVERY_RUN: Final = RunFilter()
# Milliseconds to the year 5138, the agent and the run, the latter two as keys of the buffer have them.
CURSOR_PATTERN: Final = "([0-9]{1,14}):([^:]*):([^:]*)"


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs, the last active first. ``next_cursor`` leads on, None at the end: before it a page may be short, or empty.

    ``agents_left_out`` have runs in the buffer and were active before all those whose runs were looked through; where
    an agent is named there are none. A store that did not answer is told.
    """

    runs: tuple[RunHead, ...]
    next_cursor: str | None
    buffer_ok: bool
    durable_ok: bool
    agents_left_out: int = 0


def list_runs(
    wanted: RunFilter = EVERY_RUN, *, agent_id: str | None, limit: int, cursor: str | None = None
) -> RunPage:
    """The runs of an agent, or of all for None, that are wanted: at most ``limit``, after ``cursor``.

    Raises StoresUnavailable when neither store answers, ValueError for what is no cursor.
    """
    walk = Walk(wanted, agent_id, read_clock())
    at = _beginning(wanted) if cursor is None else read_cursor(cursor)
    least = 0 if wanted.since is None else wanted.since.timestamp() * 1_000
    found: list[tuple[Place, RunHead]] = []
    looked, places = 0, [at]
    while places and at.ms >= least and len(found) <= limit and looked < RUN_LIST_LOOKED:
        places = walk.after(at)
        heads = walk.heads(places)
        pairs = zip(places, heads, strict=True)
        found += [(place, head) for place, head in pairs if head is not None and place.ms >= least]
        at, looked = (places[-1] if places else at), looked + len(places)
    if not (walk.buffer_ok or walk.durable_ok):
        raise neither()
    if len(found) > limit:
        found, at, is_over = found[:limit], found[limit - 1][0], False
    else:
        is_over = not places or at.ms < least
    return RunPage(
        runs=tuple(head for _, head in found),
        next_cursor=None if is_over else _cursor(at),
        buffer_ok=walk.buffer_ok,
        durable_ok=walk.durable_ok,
        agents_left_out=walk.agents_left_out,
    )


def read_cursor(text: str) -> Place:
    """The place that a cursor names. Raises ValueError."""
    found = re.fullmatch(CURSOR_PATTERN, text)
    if found is None:
        raise ValueError("not a cursor")
    return Place(int(found[1]), *(unquote(each, errors="replace") for each in found.groups()[1:]))


def _cursor(place: Place) -> str:
    return f"{place.ms}:{encode_id(place.agent_id)}:{encode_id(place.run_id)}"


def _beginning(wanted: RunFilter) -> Place:
    """Places are compared downwards: none at this one's time comes after it."""
    return BEGINNING if wanted.until is None else Place(round(wanted.until.timestamp() * 1_000), "", "")
