"""Large runs: the first view stays small, and the whole of them can be reached."""

import html
import re
from typing import Any

import pytest
from django.test import Client

from capture.limits import RUN_ROWS
from capture_sdk.runs.records import EventKind, artifact_ref
from tests.run_writing import Writing
from tests.runs import artifact, buffered
from tests.viewer.claims import QUERY
from tests.viewer.conftest import LogIn
from tests.viewer.test_large import PAGE_BYTES, link

pytestmark = pytest.mark.django_db(transaction=True)

EVENTS = 20_000
RUN = f"/agent-capture/runs/run?{QUERY}"


def got(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200
    assert len(response.content) < PAGE_BYTES
    return response.content.decode()


def rows(page: str) -> int:
    return len(re.findall(r'<li class="d\d', page))


def test_twenty_thousand_events_open_small_and_are_walked_to_their_end(buffer: Any, log_in: LogIn) -> None:
    writing = Writing()
    writing.start()
    while len(writing.events) < EVENTS - 1:
        writing.emit(EventKind.EVENT, {"name": f"step {len(writing.events)}", "data": {"said": "x" * 60}})
    writing.finish()
    buffered(writing.events)
    vera = log_in("vera")
    first = got(vera, RUN)
    assert rows(first) == RUN_ROWS
    assert "1 to 100 of 20,000" in first
    assert "20,000 events" in first
    assert "after=100#timeline" in (link(first, "after ›") or "")
    last = got(vera, re.sub("#.*", "", link(first, "last") or ""))
    assert "run.finished" in last
    assert link(last, "after ›") is None
    found = got(vera, f"{RUN}&event=w12345")
    assert rows(found) == RUN_ROWS
    assert re.search(r'<li class="d0 marked"[^>]*>.*?step 12345', found, re.DOTALL)


def test_a_row_of_large_values_is_small_and_leads_to_all_of_them(buffer: Any, log_in: LogIn) -> None:
    large = artifact("r" * 3_000_000 + "REQUEST-END")
    writing = Writing()
    call = writing.call(request=artifact_ref(large), params={f"p{number}": "y" * 900 for number in range(30)})
    for _ in range(40):
        writing.propose(arguments={"text": "z" * 20_000 + "ARGUMENTS-END"}, call=call)
    writing.emit("odd", {f"field {number}": number for number in range(3_000)})
    buffered(writing.events, [large])
    vera = log_in("vera")
    page = got(vera, RUN)
    assert "ARGUMENTS-END" not in page
    assert "2,988 more fields" in page
    links = [html.unescape(each) for each in re.findall(r'href="([^"]*)"', page)]
    arguments = next(each for each in links if "field=arguments" in each)
    assert "ARGUMENTS-END" in got(vera, arguments)
    request = next(each for each in links if "sha256=" in each and "/artifact?" in each)
    end = re.search(r'<a href="([^"]*)"[^>]*>end</a>', got(vera, request))
    assert end is not None
    assert "REQUEST-END" in got(vera, html.unescape(end[1]))
