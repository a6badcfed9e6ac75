"""What a run's page says of its evidence: quality, branch points, what each model call was given, artifacts."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from capture_sdk.runs.records import artifact_ref
from tests.run_writing import Writing
from tests.runs import artifact, buffered
from tests.viewer.claims import QUERY, a_claim
from tests.viewer.conftest import LogIn, Look
from tests.viewer.test_pages import text
from viewer.runs.layout import laid_out

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def claim(buffer: Any) -> None:
    writing, artifacts = a_claim()
    buffered(writing.events, artifacts)


def test_evidence_is_opened_on_the_runs_page(claim: None, look: Look) -> None:
    page = look("vera", f"/agent-capture/runs/run?{QUERY}")
    page.get_by_role("heading", name="Quality of the capture").click()
    line = page.locator("#quality li").filter(has_text="Side-effect classes deliberate")
    expect(line).to_contain_text("NOT MET")
    line.locator("summary").click()
    expect(line.get_by_role("link")).to_have_text("#15")
    page.get_by_role("heading", name="Context inventory").click()
    page.locator("#context summary").first.click()
    given = page.get_by_role("region", name="Context of a model call")
    expect(given).to_contain_text("3 that the model saw, 2 hidden")
    expect(given.locator("li").filter(has_text="messages[1].content")).to_contain_text(
        "from the policy annotated #4"
    )
    page.locator("summary").filter(has_text="Artifacts").click()
    expect(page.locator("#artifacts details")).to_have_count(2)


def test_each_part_has_a_page_of_its_own(claim: None, log_in: LogIn) -> None:
    vera = log_in("vera")
    said = {
        "quality": "NOT MET A proposal for each execution",
        "branches": "#10 point before-tool A REPLAY CAN BRANCH HERE",
        "context&call=w11": "NOT CAPTURED The call was recorded without its request.",
        "context&call=nobody": "The run has no such model call.",
        "artifacts": "280 bytes, application/json · model_call.started #3",
    }
    for part, has in said.items():
        name, _, more = part.partition("&")
        page = text(vera.get(f"/agent-capture/runs/{name}?{QUERY}&{more}").content.decode())
        assert has in page, part


def test_a_call_of_many_items_is_walked_through(buffer: Any, look: Look) -> None:
    said = [{"role": "user", "content": f"word {number}"} for number in range(250)]
    request = artifact(json.dumps({"model": "m", "messages": said}), "application/json")
    writing = Writing()
    call = writing.call(request=artifact_ref(request))
    buffered(writing.events, [request])
    page = look("vera", f"/agent-capture/runs/context?{QUERY}&call={call}")
    given = page.get_by_role("region", name="Context of a model call")
    expect(given).to_contain_text("word 98")
    expect(given).not_to_contain_text("word 99")
    page.get_by_role("link", name="after ›").click()
    expect(given).to_contain_text("word 99")
    expect(given).to_be_focused()
    page.get_by_role("link", name="last").click()
    expect(given).to_contain_text("word 249")
    assert page.url.endswith(f"call={call}")


def test_a_request_that_is_gone_is_said_to_be(claim: None, buffer: Any, log_in: LogIn) -> None:
    buffer.delete(*buffer.keys("art:*"))
    page = log_in("vera").get(f"/agent-capture/runs/context?{QUERY}&call=w2").content.decode()
    assert "NOT AVAILABLE" in page


def test_json_is_laid_out_on_lines_of_its_own() -> None:
    assert (
        laid_out(b'{"a":[1.10,"x, {y}"],"b":{}}')
        == b"""{
  "a": [
    1.10,
    "x, {y}"
  ],
  "b": {}
}"""
    )


@pytest.mark.parametrize(
    "recorded", [b'{"a" : "he said \\"no\\""', b'["unended\\', b"]]1 2", b"[" * 10_000, b'"\xff']
)
def test_what_is_no_json_comes_out_complete(recorded: bytes) -> None:
    assert b"".join(laid_out(recorded).split()) == b"".join(recorded.split())
