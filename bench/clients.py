"""Starts the processes that ask the server, and gives back what they measured."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from http.client import HTTPConnection
from typing import Final

from bench.ask import ANSWER_SECONDS, send
from bench.jobs import Ask, Load, Result
from bench.peers import ROOT
from bench.site import API, STAFF, Site
from capture_sdk.records import Charge
from capture_sdk.wire import charge_json

Request = tuple[str, str, str]
ASK_SECONDS: Final = 300.0
_AT_ONCE: Final = 500  # charges a batch


def get(path: str) -> Request:
    """A read below the API's path."""
    return "GET", API + path, ""


def page(path: str) -> Request:
    """One of the staff's pages."""
    return "GET", STAFF + path, ""


def promote(table_id: str, hand_number: int, agent_id: str) -> Request:
    """Keep one agent's turns of a hand."""
    return (
        "POST",
        f"{API}promote",
        json.dumps({"tableId": table_id, "handNumber": hand_number, "agentId": agent_id}),
    )


def ask(
    site: Site,
    name: str,
    requests: Sequence[Request],
    *,
    warm: int = 10,
    headers: Mapping[str, str] | None = None,
) -> Result:
    """Have a client's process send these requests. A failure is an answer too, for the others go on."""
    given = dict(site.headers if headers is None else headers)
    job = Ask(name=name, port=site.port, headers=given, requests=list(requests), warm=warm)
    with _process("bench.ask") as child:
        result = _answer(child, name, job.dumps() + "\n")
    return _said(result, f"p50 {result.p50 / 1_000:,.1f} ms")


def load(loads: Sequence[Load]) -> Result:
    """Have as many clients post at once; ``turns_a_second`` is all that they posted, until the last one was done."""
    with ExitStack() as started:
        children = [started.enter_context(_process("bench.post")) for _ in loads]
        for child, job in zip(children, loads, strict=True):
            _write(child, job.dumps())
        for child in children:
            _wait_until_ready(child)
        for child in children:
            _write(child, "")
        results = [_answer(child, job.name, "") for child, job in zip(children, loads, strict=True)]
    for each in results:
        if each.error is not None:
            return _said(each, "")
    seconds = max(job.batches / each.turns_a_second for job, each in zip(loads, results, strict=True))
    together = replace(results[0], turns_a_second=sum(job.batches for job in loads) / seconds)
    return _said(together, f"{together.turns_a_second:,.0f} a second")


def charge(site: Site, charges: Sequence[Charge]) -> None:
    """Post the charges to the ledger. Raises Refused."""
    connection = HTTPConnection("127.0.0.1", site.port, timeout=ANSWER_SECONDS)
    for start in range(0, len(charges), _AT_ONCE):
        items = [charge_json(each) for each in charges[start : start + _AT_ONCE]]
        send(connection, "POST", f"{API}charges", json.dumps({"charges": items}).encode(), site.headers)
    connection.close()


def send_all(
    site: Site, requests: Iterable[Request], *, headers: Mapping[str, str] | None = None
) -> list[bytes]:
    """Send requests that nobody times. Raises Refused."""
    given = dict(site.headers if headers is None else headers)
    connection = HTTPConnection("127.0.0.1", site.port, timeout=ANSWER_SECONDS)
    answers = [
        send(connection, method, path, body.encode() or None, given) for method, path, body in requests
    ]
    connection.close()
    return answers


def _process(module: str) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", module], cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def _write(child: "subprocess.Popen[str]", line: str) -> None:
    """A line for a client; one that has died says why at the end."""
    with suppress(BrokenPipeError):
        if child.stdin is not None:
            child.stdin.write(line + "\n")
            child.stdin.flush()


def _wait_until_ready(child: "subprocess.Popen[str]") -> None:
    """A posting client says a line when its batches are made, or ends, and says why with its answer."""
    if child.stdout is not None:
        child.stdout.readline()


def _answer(child: "subprocess.Popen[str]", name: str, line: str) -> Result:
    try:
        out, err = child.communicate(line, timeout=ASK_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
    found = [each for each in out.splitlines() if each.startswith('{"recorder"')]
    if found:
        return Result.loads(found[-1])
    return Result(recorder=name, error=(err.strip().splitlines() or ["it said nothing"])[-1])


def _said(result: Result, what: str) -> Result:
    """Tell whoever waits what has just been measured; the result itself."""
    sys.stderr.write(f"bench: {result.recorder}: {result.error or what}\n")
    return result
