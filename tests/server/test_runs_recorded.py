"""What the SDK records of a run is what the server reads: order, status, losses, artifacts."""

from collections.abc import Iterator
from typing import Any

import pytest

from capture.runs.reading import read_artifact, read_run
from capture.runs.run import Gap, RunStatus
from capture_sdk.runs import RunClient, init
from capture_sdk.transports.redis import RedisTransport

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(buffer: Any) -> Iterator[RunClient]:
    made = init(service_name="claims", transport=RedisTransport(buffer, ttl_seconds=60), linger_seconds=0.001)
    yield made
    made.close(1)


def test_a_recorded_run_is_read_in_its_order_with_its_artifacts(client: RunClient) -> None:
    with client.with_run("claim 17", {"channel": "mail"}, hand=("t-1", 7)) as run:
        for _ in range(2):  # the second time nothing of the artifact has to be sent
            with client.model_call("p", "m", "chat", request={"messages": ["hail"]}) as call:
                call.finish(list(call.stream([b"pay", b" it"])))
    assert client.flush(5)
    assert run.key is not None
    found = read_run(run.key)
    assert [each.sequence for each in found.events] == list(range(6))
    assert (found.head.name, found.head.status, found.head.hand) == ("claim 17", RunStatus.OK, ("t-1", 7))
    assert (found.gaps, found.damaged) == ((), ())
    started = found.events[1]
    sha256 = started.fields["request"]["$artifact"]
    assert read_artifact(run.key, started.event_id, sha256) == b'{"messages":["hail"]}'


def test_a_run_is_unfinished_until_it_ends_and_again_when_it_is_resumed(client: RunClient) -> None:
    def status() -> RunStatus:
        assert client.flush(5)
        assert run.key is not None
        return read_run(run.key).head.status

    with client.with_run("claim") as run:
        assert status() is RunStatus.UNFINISHED
        with client.join_run(run.handover()):
            pass
        assert status() is RunStatus.UNFINISHED
    assert status() is RunStatus.OK
    with client.resume_run(run.run_id or "") as again:
        assert status() is RunStatus.UNFINISHED
    assert status() is RunStatus.OK
    assert again.key == run.key


def test_what_was_lost_leaves_a_gap_that_says_so(client: RunClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with client.with_run("claim") as run:
        with monkeypatch.context() as full:
            full.setattr(client._delivery, "_held_bytes", 2**40)
            run.record_event("lost")
        run.record_event("kept")
    assert client.flush(5).lost == {"queue_full": 1}
    assert run.key is not None
    assert read_run(run.key).gaps == (Gap(run.writer.id, 1, 1, lost=True),)
