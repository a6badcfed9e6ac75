"""``python -m bench``: measures, and prints one table a part as soon as it is known."""

import argparse
import json
import platform
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from os import cpu_count
from pathlib import Path
from typing import Final

from bench import peers
from bench.goals import goals
from bench.parts import down, events, hand, ingest, memory, on_thread, page, promote, recent, throughput
from bench.run import Runner, runner
from bench.table import Part

SDK: Final[Mapping[str, Callable[[Runner, int], Part]]] = {
    "on-thread": on_thread.measure,
    "down": down.measure,
    "memory": memory.measure,
    "throughput": throughput.measure,
    "events": events.measure,
}
SERVER: Final[Mapping[str, Callable[[int], Part]]] = {
    "hand": hand.measure,
    "page": page.measure,
    "promote": promote.measure,
    "recent": recent.measure,
    "ingest": ingest.measure,
}
PARTS: Final = (*SDK, *SERVER)


def main() -> None:
    """Prepare the environments, measure the chosen parts, print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that what was started ends too
    options = _options()
    is_sdk = any(name in SDK for name in options.only)  # the server is measured without anybody beside it
    wanted = [name for name in peers.PINS if is_sdk and (name == "bare" or not options.no_peers)]
    pythons, missing = peers.prepare(wanted)
    machine = runner(pythons, missing, has_peers=not options.no_peers)
    _print(_heading(machine))
    began, measured = time.monotonic(), {}
    for name in options.only:
        measured[name] = _measure(name, machine, options.reps)
        _print(str(measured[name]))
    _print(goals(measured))
    _print(f"{time.monotonic() - began:,.0f} s in all")
    if options.json is not None:
        results = {name: [asdict(each) for each in part.results] for name, part in measured.items()}
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def _measure(name: str, machine: Runner, reps: int) -> Part:
    return SDK[name](machine, reps) if name in SDK else SERVER[name](reps)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--reps", type=_positive, default=5, help="repetitions (5)")
    parser.add_argument("--only", type=_parts, default=list(PARTS), help=f"parts, of {','.join(PARTS)} (all)")
    parser.add_argument("--json", type=Path, help="a file for what each process measured")
    parser.add_argument("--no-peers", action="store_true", help="without the tracing SDKs")
    return parser.parse_args()


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _parts(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(PARTS)}")
    return names


def _heading(machine: Runner) -> str:
    """What was measured on, against what, and what could not be."""
    lines = [
        f"# Bench: Python {platform.python_version()}, {platform.machine()}, {cpu_count()} processors",
        "",
    ]
    lines += [f"* {name}: {', '.join(pins)}" for name, pins in peers.PINS.items() if name in machine.pythons]
    lines += [f"* {each.name} is left out: {each.reason}" for each in machine.missing]
    return "\n".join([*lines, ""])


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
