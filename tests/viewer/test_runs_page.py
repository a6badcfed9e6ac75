"""The pages of runs: list, run page, artifacts."""

from typing import Any

import pytest

from tests.runs import buffered
from tests.viewer.claims import QUERY, a_claim
from tests.viewer.conftest import Look

pytestmark = pytest.mark.django_db(transaction=True)


def test_try(buffer: Any, look: Look) -> None:
    writing, artifacts = a_claim()
    buffered(writing.events, artifacts)
    page = look("kim", "/agent-capture/runs")
    page.screenshot(path="/tmp/s1.png")
    page.goto(f"/agent-capture/runs/run?{QUERY}")
    page.locator(".rows summary").nth(1).click()
    page.set_default_timeout(3000)
    page.wait_for_load_state("networkidle")
    page.screenshot(path="/tmp/s2.png", full_page=True)
    page = look("vera", f"/agent-capture/runs/run?{QUERY}", width=390, color_scheme="dark")
    print("WIDTH", page.evaluate("document.documentElement.scrollWidth"))
    page.screenshot(path="/tmp/s3.png", full_page=True)
