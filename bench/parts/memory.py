"""What a turn takes in the buffer's memory."""

from pathlib import Path
from typing import Final

from redis import Redis

from bench import stores, workload
from bench.jobs import Job, Result
from bench.recorders import CAPTURE, RECORDERS
from bench.run import Runner, said
from bench.table import NONE, Part
from capture_site import embedded

_NAMES: Final = (CAPTURE, "naive", "naive-split", "naive-split-zstd")


def measure(runner: Runner, reps: int) -> Part:
    """The whole workload into an empty server, once: what a server holds hardly varies."""
    binaries = [each for each in (embedded.valkey_binary(), embedded.redis62_binary()) if each is not None]
    names = [name for name in _NAMES if runner.knows(name)]
    results: list[Result] = []
    rows = []
    for name in names:
        cells = []
        for binary in binaries:
            held, result = _fill(runner, name, binary)
            cells.append(f"{held / workload.TURNS:,.0f}" if _is_whole(result) else NONE)
            results.append(result)
        rows.append((RECORDERS[name].title, *cells))
    return Part(
        title="Memory of the buffer: used_memory, bytes a turn",
        headers=("in the store", *(stores.version(binary) for binary in binaries)),
        rows=rows,
        notes=(
            workload.sizes(workload.turns()),
            "written one turn at a time, flushed, the writer gone; envelopes and sets are included, "
            "the empty server's own memory is not",
            "capture_sdk keeps two sets a hand, the naive forms one",
        ),
        results=results,
    )


def _fill(runner: Runner, name: str, binary: Path) -> tuple[int, Result]:
    """The bytes that the workload added to a new server."""
    with stores.redis(binary) as url, Redis.from_url(url) as control:
        before = _used(control)
        job = Job(recorder=name, url=url, kind="write", turns=workload.TURNS)
        result = said(f"memory {stores.version(binary)}", runner.process(job))
        held = _used(control) - before
        return held, result.counted(stores.arrived(RECORDERS[name], url))


def _used(control: "Redis") -> int:
    return int(control.info("memory")["used_memory"])


def _is_whole(result: Result) -> bool:
    """Whether all turns are there: the memory of a part of them would mean nothing."""
    return result.error is None and result.arrived == workload.TURNS
