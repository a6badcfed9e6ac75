"""A posting client's process: it makes its batches first, says that it is ready, and posts them when it is told.

``python -m bench.post`` reads a ``Load``, prints ``ready``, waits for a line, posts and prints a ``Result``. The bodies
are those of ``capture_sdk.transports.http``, made beforehand: on a small machine the clients would take the time from
the server otherwise.
"""

import gzip
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.client import HTTPConnection
from typing import Any, Final

from bench.ask import ANSWER_SECONDS, Refused, send
from bench.jobs import Load, Result
from bench.measure import calibrate
from bench.playing import collect
from capture_sdk import Config
from capture_sdk.records import Charge
from capture_sdk.transports import Parcel
from capture_sdk.wire import CHARGES_PATH, TURNS_PATH, WRITTEN, charge_json, turn_json

BATCH: Final = Config().batch_items


def main() -> None:
    """Do what standard input says."""
    job = Load.loads(sys.stdin.readline())
    connection = HTTPConnection("127.0.0.1", job.port, timeout=ANSWER_SECONDS)
    parcels, charges = collect(job.table, job.agent, job.batches * BATCH)
    if job.kind == "turns":
        _post(connection, job, _envelopes(parcels))
        connection.close()  # the server would, while the batches are made; the first one opens it anew
    bodies = list(_turns(parcels) if job.kind == "turns" else _charges(charges))
    bodies = [_encoded(body, job.encoding) for body in bodies]
    calibration = calibrate()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sys.stdout.write(replace(load(connection, job, bodies), calibration=calibration).dumps() + "\n")


def load(connection: HTTPConnection, job: Load, bodies: Sequence[bytes]) -> Result:
    """Post batch after batch. ``p50`` is a batch's, ``size`` the bytes of a body a turn. Raises Refused."""
    began, times = time.perf_counter(), []
    for body in bodies:
        sent = time.perf_counter_ns()
        _post(connection, job, body)
        times.append((time.perf_counter_ns() - sent) / 1_000)
    seconds = time.perf_counter() - began
    count = len(bodies) * BATCH
    return Result(
        recorder=job.name,
        p50=sorted(times)[len(times) // 2],
        turns_a_second=count / seconds,
        size=sum(map(len, bodies)) // count,
    )


def _post(connection: HTTPConnection, job: Load, body: bytes) -> None:
    encoding = "gzip" if body.startswith(b"\x1f\x8b") else "identity"
    headers = {**job.headers, "Content-Type": "application/json", "Content-Encoding": encoding}
    path = TURNS_PATH if job.kind == "turns" else CHARGES_PATH
    results = json.loads(send(connection, "POST", path, body, headers))["results"]
    if odd := [each for each in results if each["status"] != WRITTEN]:
        raise Refused(f"{len(odd)} of {len(results)} were not written: {odd[0]}")


def _turns(parcels: Sequence[Parcel]) -> Iterator[bytes]:
    """As they go once the server has the envelopes: by their hashes."""
    for start in range(0, len(parcels), BATCH):
        batch = parcels[start : start + BATCH]
        yield _json("turns", [_item(each, has_envelope=False) for each in batch])


def _charges(charges: Sequence[Charge]) -> Iterator[bytes]:
    for start in range(0, len(charges), BATCH):
        yield _json("charges", [charge_json(each) for each in charges[start : start + BATCH]])


def _envelopes(parcels: Sequence[Parcel]) -> bytes:
    """One turn of each envelope, with it."""
    firsts = {each.envelope.hash: each for each in parcels if each.envelope is not None}
    return _json("turns", [_item(each, has_envelope=True) for each in firsts.values()])


def _item(parcel: Parcel, *, has_envelope: bool) -> dict[str, object]:
    envelope = parcel.envelope
    if envelope is None:
        return turn_json(parcel.record, None, None)
    return turn_json(parcel.record, envelope.hash, envelope.data if has_envelope else None)


def _json(name: str, items: list[Any]) -> bytes:
    return json.dumps({name: items}, separators=(",", ":")).encode()


def _encoded(body: bytes, encoding: str) -> bytes:
    return gzip.compress(body, 1, mtime=0) if encoding == "gzip" else body


if __name__ == "__main__":
    main()
