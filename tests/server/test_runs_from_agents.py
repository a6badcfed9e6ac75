"""Runs as agents record them, over Redis and over HTTP, read back from the stores."""

from collections.abc import Iterator
from typing import Any

import pytest

from capture.runs.keeping import keep_run
from capture.runs.reading import read_artifacts, read_run
from capture.runs.run import RunStatus
from capture_sdk.runs import RunClient, init
from capture_sdk.runs.records import EventKind, RunKey, artifact_refs
from capture_sdk.transports.redis import RedisTransport

pytestmark = pytest.mark.django_db

KEY = "claims-key-0123456789abcdef"


def claim(client: RunClient, request: object) -> RunKey:
    """What a claims agent does with a claim; the run's key."""
    with client.with_run("claim 17", metadata={"claim": 17}) as run:
        client.checkpoint("input.loaded", {"claim": 17})
        with client.model_call("openai", "gpt-test", "chat", request=request) as call:
            call.finish(output="pay " * 2_000, usage={"total_tokens": 9})
        proposal = client.record_tool_proposal("pay", {"sum": 9})
        with client.tool_execution(
            "pay", {"sum": 9}, proposal=proposal, side_effect_class="irreversible"
        ) as tool:
            tool.finish(output={"paid": True})
        key = run.key
    assert client.flush(10)
    assert key is not None
    return key


@pytest.fixture
def over_http(live_server: Any, settings: Any, buffer: Any) -> Iterator[RunClient]:
    settings.AGENT_CAPTURE_SERVICE_KEYS = f"claims:ingest:{KEY}"
    made = init(service_name="claims", base_url=live_server.url, service_key=KEY)
    yield made
    made.close(5)


def assert_whole(key: RunKey) -> None:
    run = read_run(key)
    assert (run.head.name, run.head.status, run.gaps, run.damaged) == ("claim 17", RunStatus.OK, (), ())
    assert [event.kind for event in run.events] == [
        *(EventKind.RUN_STARTED, EventKind.CHECKPOINT),
        *(EventKind.MODEL_CALL_STARTED, EventKind.MODEL_CALL_FINISHED),
        *(EventKind.TOOL_PROPOSED, EventKind.TOOL_STARTED, EventKind.TOOL_FINISHED, EventKind.RUN_FINISHED),
    ]
    hashes = {ref["$artifact"] for event in run.events for ref in artifact_refs(event.fields)}
    assert set(read_artifacts(hashes)) == hashes
    assert b"pay " * 2_000 in read_artifacts(hashes).values()


def test_a_run_over_redis_is_read_and_kept_whole(both_buffers: Any) -> None:
    client = init(service_name="claims", transport=RedisTransport(both_buffers, ttl_seconds=100))
    key = claim(client, {"messages": [{"role": "user", "content": "settle"}]})
    client.close(5)
    assert_whole(key)
    assert keep_run(key, by="test").missing == 0
    both_buffers.flushall()
    assert_whole(key)


@pytest.mark.django_db(transaction=True)
def test_runs_over_http_share_artifacts_and_are_read_whole(buffer: Any, over_http: RunClient) -> None:
    request = {"messages": [{"role": "system", "content": "the same in every run"}]}
    keys = [claim(over_http, request) for _ in range(2)]
    for key in keys:
        assert_whole(key)
    assert len(buffer.keys("art:*")) == 2
