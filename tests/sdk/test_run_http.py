"""Events over HTTP to a real server on loopback: what is posted, what is asked for again, what is refused."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from capture_sdk.codec import unframe
from capture_sdk.runs import RunClient, init
from capture_sdk.runs.records import RunEvent, decode_event
from tests.sdk.test_http import FAST, KEY, Server


class RunServer(Server):
    """Takes events as a capture server does, and keeps artifacts by their hash."""

    def __init__(self) -> None:
        super().__init__()
        self.artifacts: dict[str, bytes] = {}
        self.events: dict[str, RunEvent] = {}
        self.refused: set[str] = set()

    def take(self, payload: Any) -> Any:
        return {"results": [self._event(item) for item in payload["events"]]}

    def _event(self, item: Any) -> Any:
        for each in item.get("artifacts", []):
            if "data" in each:
                self.artifacts[each["sha256"]] = unframe(base64.b64decode(each["data"]))
        if any(each["sha256"] not in self.artifacts for each in item.get("artifacts", [])):
            return {"status": "artifact_needed"}
        event = decode_event(base64.b64decode(item["event"]))
        if event.kind in self.refused:
            return {"status": "refused", "reason": "bad_event"}
        self.events.setdefault(event.event_id, event)
        return {"status": "written"}

    def sent(self) -> list[bool]:
        """Of each artifact named so far, whether its bytes went along."""
        items = [item for _, _, payload in self.requests for item in payload["events"]]
        return ["data" in each for item in items for each in item.get("artifacts", [])]


@pytest.fixture
def server() -> Iterator[RunServer]:
    made = RunServer()
    yield made
    made.stop()


@pytest.fixture
def client(server: RunServer) -> Iterator[RunClient]:
    made = init(service_name="claims", base_url=server.url, service_key=KEY, **FAST)
    yield made
    made.close(1)


def test_a_run_crosses_with_its_artifacts(server: RunServer, client: RunClient) -> None:
    with client.with_run("run") as run, client.model_call("p", "m", "o", request={"messages": []}) as call:
        call.finish("said")
    assert client.flush(5)
    kinds = [each.kind for each in server.events.values()]
    assert kinds == ["run.started", "model_call.started", "model_call.finished", "run.finished"]
    assert {each.run for each in server.events.values()} == {run.key}
    assert set(server.artifacts.values()) == {b'{"messages":[]}', b"said"}
    path, headers, _ = server.requests[0]
    assert path == "/sub/path/internal/agent-capture/runs/events"
    assert headers["X-Service-Key"] == KEY


def test_an_artifact_that_the_server_has_is_not_sent_again(server: RunServer, client: RunClient) -> None:
    with client.with_run("run") as run:
        for _ in range(3):
            run.start_model_call("p", "m", "o", request={"messages": ["the same"]})
            assert client.flush(5)
    assert server.sent() == [True, False, False]


def test_an_artifact_that_the_server_has_lost_is_sent_when_asked_for(
    server: RunServer, client: RunClient
) -> None:
    with client.with_run("run") as run:
        run.start_model_call("p", "m", "o", request="the same")
        assert client.flush(5)
        server.artifacts.clear()
        run.start_model_call("p", "m", "o", request="the same")
        assert client.flush(5)
    assert server.sent() == [True, False, True]
    assert list(server.artifacts.values()) == [b"the same"]


def test_a_refused_event_costs_the_others_nothing(server: RunServer, client: RunClient) -> None:
    server.refused.add("event")
    with client.with_run("run") as run:
        run.record_event("bad")
    result = client.flush(5)
    assert (result.written, result.lost) == (2, {"bad_event": 1})


def test_a_server_that_is_busy_is_tried_again_and_repeats_count_once(
    server: RunServer, client: RunClient
) -> None:
    server.script = [(503, {}, {}), (429, {"Retry-After": "0"}, {})]
    with client.with_run("run"):
        pass
    assert client.flush(5)
    assert len(server.events) == 2
    assert client.stats().retried > 0
