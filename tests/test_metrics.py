"""Figures for Prometheus: behind a key, without ids, of all workers, and while stores are down."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client as Http
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from capture import metrics
from capture.absence import Why
from capture_sdk.prompt import PromptStatus
from tests.build import HAND, TABLE
from tests.served import Service
from tests.site_process import PRODUCTION, ROOT, STRONG_KEY, ask, live

pytestmark = pytest.mark.django_db
OPERATOR = {"X-Service-Key": STRONG_KEY}
HOST = {"Host": "capture.example.org", "X-Forwarded-Proto": "https"}


@pytest.fixture(autouse=True)
def keys(settings: Any) -> None:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"operator:read-all:{STRONG_KEY};owner:read-own:own-{STRONG_KEY}"


def figures(text: str) -> dict[str, float]:
    """Every sample by its name and labels."""
    return {
        sample.name + "".join(f",{value}" for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped() -> dict[str, float]:
    return figures(Http().get("/metrics", headers=OPERATOR).content.decode())


def grown(before: dict[str, float], name: str) -> float:
    return scraped()[name] - before.get(name, 0)


@pytest.mark.parametrize(("key", "status"), [("", 401), ("nobody", 401), (f"own-{STRONG_KEY}", 403)])
def test_figures_need_a_key_that_reads_all(key: str, status: int) -> None:
    assert Http().get("/metrics", headers={"X-Service-Key": key}).status_code == status


def test_reads_count_their_outcome_and_what_was_missing_or_not_verified() -> None:
    before = scraped()
    metrics.count_read("hand", "partly_live", missing=[Why.LOST, Why.LOST], prompts=list(PromptStatus))
    assert grown(before, "agent_capture_reads_total,partly_live,hand") == 1
    assert grown(before, "agent_capture_missing_turns_total,lost") == 2
    assert grown(before, "agent_capture_prompts_unverified_total,mismatched") == 1
    assert "agent_capture_prompts_unverified_total,verified" not in scraped()


def test_pins_and_items_count_by_what_became_of_them() -> None:
    before = scraped()
    metrics.count_pin("pinned", 3)
    metrics.count_ingested("turn", ["written", "refused", "written"])
    assert grown(before, "agent_capture_pins_total,pinned") == 1
    assert grown(before, "agent_capture_pinned_turns_total") == 3
    assert grown(before, "agent_capture_ingested_total,turn,written") == 2
    assert grown(before, "agent_capture_ingested_total,turn,refused") == 1


def test_requests_are_timed_by_route_and_never_by_address(buffer: Any) -> None:
    before = scraped()
    path = "/internal/agent-capture/hand-all"
    Http().get(f"{path}?tableId={TABLE}&handNumber={HAND}", headers=OPERATOR)
    assert grown(before, "agent_capture_request_seconds_count,GET,capture:hand-all,2xx") == 1
    assert not any(TABLE in name or path in name for name in scraped())


def test_a_made_up_method_and_address_make_no_new_labels() -> None:
    before = scraped()
    Http().generic("BREW", "/no/such/place")
    assert grown(before, "agent_capture_request_seconds_count,OTHER,none,4xx") == 1


def test_the_stores_are_asked_at_every_scrape(buffer: Any) -> None:
    buffer.set("turn:a", b"x", ex=100)
    found = scraped()
    assert (found["agent_capture_buffer_up"], found["agent_capture_durable_up"]) == (1, 1)
    assert (found["agent_capture_buffer_keys"], found["agent_capture_buffer_keys_without_ttl"]) == (1, 0)
    assert found["agent_capture_buffer_maxmemory_bytes"] == 256 * 1024 * 1024
    assert found["agent_capture_buffer_used_memory_bytes"] > 0
    assert {"agent_capture_buffer_evicted_keys_total", "agent_capture_buffer_expired_keys_total"} <= set(
        found
    )


def test_with_both_stores_down_figures_say_so() -> None:
    environment = PRODUCTION | {"AGENT_CAPTURE_SERVICE_KEYS": f"operator:read-all:{STRONG_KEY}"}
    answer = ask(environment, "/metrics", secure=True, headers=OPERATOR)
    found = figures(answer.body)
    assert (answer.status, found["agent_capture_buffer_up"], found["agent_capture_durable_up"]) == (200, 0, 0)
    assert "agent_capture_buffer_keys" not in found


def test_every_figure_is_documented() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    names = {each.name for each in REGISTRY.collect()} | {
        each.name for each in metrics.StoreCollector().collect()
    }
    ours = {name for name in names if name.startswith("agent_capture_")}
    assert len(ours) >= 16
    assert not [name for name in ours if f"`{name}" not in page]


@pytest.fixture
def service(tmp_path: Path, redis_url: str, transactional_db: None) -> Iterator[Service]:
    started = Service(tmp_path, live(redis_url))
    try:
        started.wait()
        yield started
    finally:
        started.stop()


def workers_counting(folder: Path) -> int:
    """How many processes keep figures of requests in this folder."""
    return len(list(folder.glob("histogram_*.db")))


def test_what_two_workers_counted_is_summed_and_the_folder_goes_with_them(
    service: Service, tmp_path: Path
) -> None:
    folder, asked = next(tmp_path.glob("capture-metrics-*")), 0
    while workers_counting(folder) < 2 or asked < 20:
        assert service.get("/healthz", HOST) == (200, '{"status": "alive"}')
        asked += 1
        assert asked < 5_000
    _, text = service.get("/metrics", HOST | OPERATOR)
    assert figures(text)["agent_capture_request_seconds_count,GET,healthz,2xx"] == asked
    service.stop()
    assert not folder.exists()
