"""A stream reaches the agent unchanged, and its call is closed once, on every way out."""

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from capture_sdk.runs import ModelCall
from tests.sdk.recorded import Recorded, recorded

CHUNKS = [b'data: {"n":1}\n', b"\ndata: {", b'"n":2}\n\n', b"data: [DONE]\n\n"]


@pytest.fixture
def at() -> Iterator[Recorded]:
    with recorded() as made:
        yield made


def source(closed: list[str] | None = None, error: BaseException | None = None) -> Iterator[bytes]:
    try:
        yield from CHUNKS
        if error is not None:
            raise error
    finally:
        if closed is not None:
            closed.append("closed")


async def later(error: BaseException | None = None) -> AsyncIterator[bytes]:
    for chunk in CHUNKS:
        await asyncio.sleep(0)
        yield chunk
    if error is not None:
        raise error


def begun(at: Recorded) -> ModelCall:
    return at.client.start_model_call("openai", "gpt-x", "chat")


def ended(at: Recorded, status: str, chunks: int, *, complete: bool) -> dict[str, Any]:
    said = at.fields("model_call.finished")
    assert said["status"] == status
    assert (said["stream"]["chunks"], said["stream"]["isComplete"]) == (chunks, complete)
    times = said["stream"]["times"]
    assert len(times) == chunks
    assert times == sorted(times)
    assert at.artifact(said["output"]) == b"".join(CHUNKS[:chunks])
    return said


def test_a_stream_to_its_end_is_complete_and_the_agents_own(at: Recorded) -> None:
    with at.client.with_run("run"):
        assert list(begun(at).stream(source())) == CHUNKS
    assert ended(at, "ok", 4, complete=True)["output"]["mediaType"] == "text/event-stream"


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_a_stream_that_is_left_by_a_break_is_incomplete(at: Recorded, taken: int) -> None:
    with at.client.with_run("run"):
        stream = begun(at).stream(source())
        for _ in range(taken):
            next(stream)
        del stream
    ended(at, "incomplete", taken, complete=False)


def test_a_stream_that_is_closed_closes_the_agents_too(at: Recorded) -> None:
    closed: list[str] = []
    with at.client.with_run("run"):
        stream = begun(at).stream(source(closed))
        next(stream)
        stream.close()
        stream.close()
    assert closed == ["closed"]
    ended(at, "incomplete", 1, complete=False)


def test_a_stream_that_breaks_keeps_what_came_and_raises_on(at: Recorded) -> None:
    error = ConnectionError("reset")
    with at.client.with_run("run"), pytest.raises(ConnectionError) as raised:
        list(begun(at).stream(source(error=error)))
    assert raised.value is error
    assert ended(at, "error", 4, complete=False)["error"]["message"] == "reset"


def test_a_stream_that_is_interrupted_is_cancelled(at: Recorded) -> None:
    with at.client.with_run("run"), pytest.raises(KeyboardInterrupt):
        list(begun(at).stream(source(error=KeyboardInterrupt())))
    ended(at, "cancelled", 4, complete=False)


def test_a_stream_in_a_with_ends_with_it(at: Recorded) -> None:
    with at.client.with_run("run"), at.client.model_call("openai", "gpt-x", "chat") as call:
        assert list(call.stream(source())) == CHUNKS
        call.finish(usage={"total_tokens": 4})
    assert ended(at, "ok", 4, complete=True)["usage"] == {"total_tokens": 4}


def test_a_stream_that_outlives_its_with_ends_by_itself(at: Recorded) -> None:
    def answer() -> Iterator[bytes]:
        with at.client.model_call("openai", "gpt-x", "chat") as call:
            return call.stream(source())

    with at.client.with_run("run"):
        stream = answer()
        assert at.events("model_call.finished") == []
        assert list(stream) == CHUNKS
    ended(at, "ok", 4, complete=True)


def test_an_error_of_the_agents_in_a_with_ends_the_call_with_what_came(at: Recorded) -> None:
    def fail() -> None:
        with at.client.model_call("openai", "gpt-x", "chat") as call:
            for _ in call.stream(source()):
                raise ZeroDivisionError

    with at.client.with_run("run"), pytest.raises(ZeroDivisionError):
        fail()
    ended(at, "error", 1, complete=False)


def test_a_dropped_cycle_is_closed_by_the_collector(at: Recorded) -> None:
    with at.client.with_run("run"):
        stream = begun(at).stream(source())
        next(stream)
        cycle: list[Any] = [stream]
        cycle.append(cycle)
        del stream, cycle
        gc.collect()
    ended(at, "incomplete", 1, complete=False)


def test_dropped_streams_and_recording_threads_do_not_wait_for_each_other(at: Recorded) -> None:
    def work() -> None:
        with at.client.with_run("run") as run:
            for number in range(200):
                cycle: list[Any] = [begun(at).stream(source())]
                cycle.append(cycle)
                run.record_event(f"event {number}")

    threads = [threading.Thread(target=work) for _ in range(3)]
    before = gc.get_threshold()
    gc.set_threshold(5)  # collections in the middle of everything
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join(30)
    finally:
        gc.set_threshold(*before)
    assert not any(each.is_alive() for each in threads)
    gc.collect()
    assert len(at.events("model_call.finished")) + sum(at.client.stats().lost.values()) >= 600


WAYS: dict[str, tuple[Callable[[Any], Any], str, int, bool]] = {}


def way(status: str, chunks: int, *, complete: bool = False) -> Callable[[Any], Any]:
    def note(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        WAYS[function.__name__] = (function, status, chunks, complete)
        return function

    return note


@way("ok", 4, complete=True)
async def to_the_end(call: ModelCall) -> None:
    assert [chunk async for chunk in call.astream(later())] == CHUNKS


@way("incomplete", 1)
async def by_a_break(call: ModelCall) -> None:
    async for _ in call.astream(later()):
        break


@way("incomplete", 1)
async def by_closing(call: ModelCall) -> None:
    stream = call.astream(later())
    await anext(stream)
    await stream.aclose()


@way("incomplete", 1)
async def by_a_with(call: ModelCall) -> None:
    async with call.astream(later()) as stream:
        await anext(stream)


@way("error", 4)
async def by_an_error(call: ModelCall) -> None:
    with pytest.raises(ConnectionError):
        _ = [chunk async for chunk in call.astream(later(ConnectionError("reset")))]


@way("cancelled", 4)
async def by_being_cancelled(call: ModelCall) -> None:
    stream = call.astream(forever())
    for _ in range(4):
        await anext(stream)
    task = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def forever() -> AsyncIterator[bytes]:
    for chunk in CHUNKS:
        yield chunk
    await asyncio.Event().wait()


@pytest.mark.parametrize("name", WAYS)
def test_every_way_out_of_an_asynchronous_stream_closes_the_call_once(at: Recorded, name: str) -> None:
    leave, status, chunks, complete = WAYS[name]

    async def main() -> None:
        async with at.client.with_run("run"):
            await leave(begun(at))

    asyncio.run(main())
    gc.collect()
    ended(at, status, chunks, complete=complete)


@dataclass
class Delta:
    text: str


@dataclass
class Chunk:
    index: int
    delta: Delta


def test_objects_of_an_sdk_are_kept_as_json_one_a_line(at: Recorded) -> None:
    chunks = [Chunk(0, Delta("a")), Chunk(0, Delta("b"))]
    with at.client.with_run("run"):
        got = list(begun(at).stream(chunks))
    assert got[0] is chunks[0]
    output = at.fields("model_call.finished")["output"]
    assert at.artifact(output) == b'{"index":0,"delta":{"text":"a"}}\n{"index":0,"delta":{"text":"b"}}\n'
    assert output["mediaType"] == "application/x-ndjson"


def test_a_chunk_is_what_it_was_when_it_came(at: Recorded) -> None:
    chunk: dict[str, Any] = {"text": "before"}
    with at.client.with_run("run"):
        for each in begun(at).stream([chunk]):
            each["text"] = "after"
    assert at.artifact(at.fields("model_call.finished")["output"]) == b'{"text":"before"}\n'


def test_the_times_of_a_long_stream_are_an_artifact(at: Recorded) -> None:
    with at.client.with_run("run"):
        list(begun(at).stream([b"x"] * 2_000))
    stream = at.fields("model_call.finished")["stream"]
    assert (stream["chunks"], stream["isComplete"]) == (2_000, True)
    assert len(json.loads(at.artifact(stream["times"]))) == 2_000


def test_lines_without_their_ends_get_them_back(at: Recorded) -> None:
    with at.client.with_run("run"):
        list(begun(at).stream(['data: {"n":1}', "", 'data: {"n":2}', ""], joiner="\n"))
    assert at.artifact(at.fields("model_call.finished")["output"]) == b'data: {"n":1}\n\ndata: {"n":2}\n'


def test_whatever_else_the_agents_stream_can_do_it_still_can(at: Recorded) -> None:
    class Own:
        response = "200"

        def __iter__(self) -> Iterator[int]:
            return iter([1])

    stream = at.client.start_model_call("p", "m", "chat").stream(Own())
    assert stream.response == "200"
    assert list(stream) == [1]


def test_a_stream_beyond_the_bound_goes_on_and_is_recorded_as_cut() -> None:
    with recorded(max_record_bytes=2_000) as at:
        with at.client.with_run("run"):
            assert len(list(begun(at).stream([b"x" * 500] * 20))) == 20
        said = at.fields("model_call.finished")
        assert (said["stream"]["chunks"], said["stream"]["isComplete"]) == (20, False)
