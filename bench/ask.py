"""A client's process: one kept connection, request after request, each timed to the answer's last byte.

``python -m bench.ask`` reads an ``Ask`` from standard input, where nobody sees the key, and prints a ``Result``.
"""

import sys
import time
from http.client import HTTPConnection
from statistics import median

from bench.jobs import Ask, Result
from bench.measure import calibrate, quantile

ANSWER_SECONDS = 60.0


class Refused(Exception):
    """The server answered something else than 200."""


def main() -> None:
    """Do what standard input says."""
    sys.stdout.write(ask(Ask.loads(sys.stdin.readline())).dumps() + "\n")


def ask(job: Ask) -> Result:
    """Send the requests and time them; the size of an answer is the median. Raises Refused."""
    connection = HTTPConnection("127.0.0.1", job.port, timeout=ANSWER_SECONDS)
    before, times, sizes = calibrate(), [], []
    for place, (method, path, body) in enumerate(job.requests):
        began = time.perf_counter_ns()
        size = len(send(connection, method, path, body.encode() or None, job.headers))
        if place >= job.warm:
            times.append((time.perf_counter_ns() - began) / 1_000)
            sizes.append(size)
    return Result(
        recorder=job.name,
        p50=quantile(times, 0.5),
        p99=quantile(times, 0.99),
        worst=max(times),
        size=int(median(sizes)),
        calibration=(before + calibrate()) / 2,
    )


def send(
    connection: HTTPConnection, method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> bytes:
    """One request and the whole answer. Raises Refused."""
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    read = answer.read()
    if answer.status != 200:
        raise Refused(f"{method} {path}: {answer.status} {read[:200]!r}")
    return read


if __name__ == "__main__":
    main()
