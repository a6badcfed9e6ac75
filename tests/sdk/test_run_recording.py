"""Runs are recorded as they went: which run, in which order, how they ended; and the agent feels nothing of it."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from capture_sdk import ConfigError, MemoryTransport
from capture_sdk.runs import RunClient, current_run, init
from tests.sdk.recorded import Recorded, recorded


@pytest.fixture
def at() -> Iterator[Recorded]:
    with recorded() as made:
        yield made


def status(at: Recorded) -> str:
    return str(at.fields("run.finished")["status"])


def names(at: Recorded) -> dict[str, set[str]]:
    """What was recorded as an event, by the name of the run that it stands in."""
    runs = {each.run.run_id: each.fields["name"] for each in at.events("run.started")}
    found: dict[str, set[str]] = {name: set() for name in runs.values()}
    for each in at.events("event"):
        found[runs[each.run.run_id]].add(each.fields["name"])
    return found


def test_a_run_says_what_it_is_and_how_it_ended(at: Recorded) -> None:
    with at.client.with_run("claim 17", {"channel": "mail"}, hand=("t-1", 7)) as run:
        run.record_event("read", {"pages": 3})
    first, event, last = at.events()
    assert first.fields == {
        "name": "claim 17",
        "metadata": {"channel": "mail"},
        "project": "shop",
        "service": "claims",
        "hand": {"tableId": "t-1", "handNumber": 7},
    }
    assert event.fields == {"name": "read", "data": {"pages": 3}}
    assert last.fields == {"status": "ok"}
    assert [each.sequence for each in at.events()] == [0, 1, 2]
    assert {each.run.agent_id for each in at.events()} == {"claims"}
    assert len({each.writer for each in at.events()}) == 1


def test_an_exception_is_recorded_and_raised_on(at: Recorded) -> None:
    error = ValueError("no such claim")
    with pytest.raises(ValueError, match="no such claim") as raised, at.client.with_run("claim"):
        raise error
    assert raised.value is error
    said = at.fields("run.finished")
    assert said["status"] == "error"
    assert (said["error"]["type"], said["error"]["message"]) == ("ValueError", "no such claim")
    assert "raise error" in said["error"]["traceback"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), "cancelled"),
        (asyncio.CancelledError(), "cancelled"),
        (GeneratorExit(), "cancelled"),
        (SystemExit(0), "ok"),
        (SystemExit(2), "error"),
    ],
)
def test_how_a_run_was_left_is_its_status(at: Recorded, error: BaseException, expected: str) -> None:
    with pytest.raises(type(error)), at.client.with_run("claim"):
        raise error
    assert status(at) == expected


def test_a_cancelled_task_is_a_cancelled_run(at: Recorded) -> None:
    async def work() -> None:
        async with at.client.with_run("claim"):
            await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert status(at) == "cancelled"


def test_a_run_within_a_run_names_the_outer_one(at: Recorded) -> None:
    with at.client.with_run("outer") as outer:
        with at.client.with_run("inner"):
            at.client.record_event("in inner")
        at.client.record_event("in outer")
    inner = next(each.fields for each in at.events("run.started") if each.fields["name"] == "inner")
    assert inner["outer"] == {"agentId": "claims", "runId": outer.run_id}
    assert names(at) == {"outer": {"in outer"}, "inner": {"in inner"}}


def test_runs_in_a_thread_pool_do_not_mix(at: Recorded) -> None:
    def work(number: int) -> None:
        with at.client.with_run(f"run {number}"):
            at.client.record_event(f"event {number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(50)))
    assert names(at) == {f"run {n}": {f"event {n}"} for n in range(50)}


def test_runs_in_tasks_do_not_mix(at: Recorded) -> None:
    async def work(number: int) -> None:
        with at.client.with_run(f"run {number}"):
            await asyncio.sleep(0)
            await asyncio.to_thread(at.client.record_event, f"event {number}")

    async def main() -> None:
        await asyncio.gather(*(work(number) for number in range(20)))

    asyncio.run(main())
    assert names(at) == {f"run {n}": {f"event {n}"} for n in range(20)}


def test_a_run_is_carried_into_another_thread_on_request(at: Recorded) -> None:
    with ThreadPoolExecutor(1) as pool, at.client.with_run("run") as run:
        assert pool.submit(current_run).result() is None
        pool.submit(run.carry(at.client.record_event), "carried").result()
    assert names(at) == {"run": {"carried"}}


def test_two_clients_in_one_process_record_into_their_own_runs(at: Recorded) -> None:
    with recorded() as other, at.client.with_run("mine"), other.client.with_run("theirs"):
        at.client.record_event("of mine")
        other.client.record_event("of theirs")
        assert names(at) == {"mine": {"of mine"}}
        assert names(other) == {"theirs": {"of theirs"}}


def test_a_decorated_function_is_a_run_a_call(at: Recorded) -> None:
    @at.client.with_run("work")
    def work(number: int) -> int:
        at.client.record_event(f"event {number}")
        return number + 1

    @at.client.with_run("async work")
    async def later(number: int) -> int:
        at.client.record_event(f"event {number}")
        return number + 1

    assert (work(1), work(2), asyncio.run(later(3))) == (2, 3, 4)
    assert len({each.run for each in at.events()}) == 3


def generator(at: Recorded) -> Callable[[], Iterator[Any]]:
    @at.client.with_run("generated")
    def steps() -> Iterator[Any]:
        at.client.record_event("first")
        answer = yield 1
        at.client.record_event(f"got {answer}")
        yield 2

    return steps


def test_a_decorated_generator_runs_inside_and_is_stepped_from_outside(at: Recorded) -> None:
    steps: Any = generator(at)()
    with at.client.with_run("consumer"):
        assert next(steps) == 1
        at.client.record_event("between")
        assert steps.send("a word") == 2
        assert list(steps) == []
    assert names(at) == {"generated": {"first", "got a word"}, "consumer": {"between"}}


def test_a_generator_that_is_stepped_in_several_threads_stays_one_run(at: Recorded) -> None:
    steps: Any = generator(at)()
    for _ in range(3):
        thread = threading.Thread(target=lambda: next(steps, None))
        thread.start()
        thread.join()
    assert names(at) == {"generated": {"first", "got None"}}
    assert status(at) == "ok"


def test_a_generator_that_is_left_is_a_cancelled_run(at: Recorded) -> None:
    steps: Any = generator(at)()
    next(steps)
    steps.close()
    assert status(at) == "cancelled"


def test_a_decorated_asynchronous_generator_runs_inside(at: Recorded) -> None:
    @at.client.with_run("generated")
    async def steps() -> AsyncIterator[int]:
        for number in range(2):
            await asyncio.sleep(0)
            at.client.record_event(f"step {number}")
            yield number

    async def main() -> None:
        with at.client.with_run("consumer"):
            async for number in steps():
                at.client.record_event(f"between {number}")

    asyncio.run(main())
    assert names(at) == {
        "generated": {"step 0", "step 1"},
        "consumer": {"between 0", "between 1"},
    }


def test_a_with_inside_a_generator_is_not_its_consumers(at: Recorded) -> None:
    def steps(name: str) -> Iterator[None]:
        with at.client.with_run(name):
            yield
            at.client.record_event(f"in {name}")
            yield

    first, second = steps("first"), steps("second")
    for _ in range(3):
        next(first, None)
        assert current_run() is None
        next(second, None)
    assert names(at) == {"first": {"in first"}, "second": {"in second"}}


def test_a_with_inside_an_asynchronous_generator_is_not_its_consumers(at: Recorded) -> None:
    async def steps() -> AsyncIterator[None]:
        async with at.client.with_run("generated"):
            for _ in range(2):
                await asyncio.sleep(0)
                at.client.record_event("inside")
                yield

    @asynccontextmanager
    async def mine() -> AsyncIterator[None]:
        async with at.client.with_run("wrapped"):
            yield

    async def main() -> None:
        async with at.client.with_run("outer"):
            async for _ in steps():
                at.client.record_event("between")
            async with mine():
                at.client.record_event("wrapped")

    asyncio.run(main())
    assert names(at) == {"outer": {"between"}, "generated": {"inside"}, "wrapped": {"wrapped"}}


def test_a_with_inside_a_context_manager_is_its_users(at: Recorded) -> None:
    @contextmanager
    def mine() -> Iterator[None]:
        with at.client.with_run("wrapped"):
            yield

    with at.client.with_run("outer"), mine():
        at.client.record_event("inside")
    assert names(at) == {"outer": set(), "wrapped": {"inside"}}


def test_steps_are_two_records_each_and_parents_of_what_happens_in_them(at: Recorded) -> None:
    with at.client.with_run("run"):
        with at.client.model_call("openai", "gpt-x", "chat", request={"messages": []}) as call:
            at.client.record_event("inside")
            call.finish({"choices": []}, usage={"total_tokens": 3})
        proposal = at.client.record_tool_proposal("search", '{"q": 1}', call_id="c-1", call=call)
        with at.client.tool_execution(
            "search", {"q": 1}, proposal=proposal, side_effect_class="read"
        ) as tool:
            tool.finish(["found"])
    (started,) = at.events("model_call.started")
    assert at.events("event")[0].parent_id == started.event_id
    finished = at.fields("model_call.finished")
    assert (finished["call"], finished["status"]) == (started.event_id, "ok")
    assert finished["usage"] == {"total_tokens": 3}
    assert at.artifact(finished["output"]) == b'{"choices":[]}'
    (proposed,) = at.events("tool.proposed")
    assert proposed.fields["arguments"] == '{"q": 1}'
    assert proposed.fields["call"] == started.event_id
    (running,) = at.events("tool.started")
    assert running.fields == {
        "name": "search",
        "arguments": {"q": 1},
        "callId": "c-1",
        "proposal": proposed.event_id,
        "sideEffect": "read",
    }
    assert at.fields("tool.finished") == {"execution": running.event_id, "status": "ok", "output": ["found"]}


def test_a_step_is_finished_once(at: Recorded) -> None:
    with at.client.with_run("run"):
        call = at.client.start_model_call("openai", "gpt-x", "chat")
        at.client.finish_model_call(call, "first")
        at.client.finish_model_call(call, "second")
    assert at.artifact(at.fields("model_call.finished")["output"]) == b"first"


def test_what_is_not_given_is_absent_and_none_is_nothing(at: Recorded) -> None:
    with at.client.with_run("run"):
        at.client.start_tool_execution("a").finish()
        at.client.start_tool_execution("b").finish(None)
    first, second = at.events("tool.finished")
    assert "output" not in first.fields
    assert second.fields["output"] is None
    assert all("sideEffect" not in each.fields for each in at.events("tool.started"))


def test_an_unknown_side_effect_class_is_left_unset(at: Recorded) -> None:
    with at.client.with_run("run"):
        at.client.start_tool_execution("a", side_effect_class="harmless")
    assert "sideEffect" not in at.fields("tool.started")
    assert at.client.stats().faults == 1


def test_a_denied_proposal_and_an_execution_without_one_are_both_there(at: Recorded) -> None:
    with at.client.with_run("run"):
        proposal = at.client.record_tool_proposal("wipe", {"all": True})
        at.client.deny_tool(proposal, "not allowed", by="policy")
        at.client.start_tool_execution("other").finish(1)
    denied = at.fields("tool.denied")
    assert (denied["proposal"], denied["reason"]) == (at.events("tool.proposed")[0].event_id, "not allowed")
    assert "proposal" not in at.fields("tool.started")


def test_a_decorated_tool_records_arguments_result_and_error(at: Recorded) -> None:
    @at.client.tool(side_effect_class="none")
    def add(first: int, second: int = 2) -> int:
        return first + second

    @at.client.tool("slow add")
    async def later(first: int) -> int:
        raise LookupError(f"no {first}")

    with at.client.with_run("run"):
        assert add(1) == 3
        with pytest.raises(LookupError):
            asyncio.run(later(4))
    assert [each.fields["arguments"] for each in at.events("tool.started")] == [
        {"first": 1, "second": 2},
        {"first": 4},
    ]
    first, second = at.events("tool.finished")
    assert (first.fields["output"], second.fields["status"]) == (3, "error")
    assert second.fields["error"]["message"] == "no 4"


def test_a_checkpoint_with_the_name_of_a_place_stands_there(at: Recorded) -> None:
    with at.client.with_run("run"):
        at.client.checkpoint("input.loaded", {"task": "a"}, is_whole=True)
        at.client.checkpoint("mine", {"n": 1})
    first, second = at.events("checkpoint")
    assert (first.fields["place"], first.fields["isWhole"]) == ("input.loaded", True)
    assert second.fields.keys() == {"name", "state"}


def test_annotations_say_where_it_came_from_and_who_saw_it(at: Recorded) -> None:
    with at.client.with_run("run"):
        at.client.annotate_context(
            "retrieval", "docs.3", "a passage", provenance={"index": "law"}, visibility="model"
        )
    assert at.fields("context.annotated") == {
        "kind": "retrieval",
        "path": "docs.3",
        "value": "a passage",
        "provenance": {"index": "law"},
        "visibility": "model",
    }


def test_the_record_is_what_was_true_at_the_call(at: Recorded) -> None:
    state: dict[str, Any] = {"notes": ["one"]}
    with at.client.with_run("run", state):
        at.client.checkpoint("a", state)
        call = at.client.start_model_call("p", "m", "chat", request=state)
        state["notes"].append("two")
        call.finish(state)
        state.clear()
    assert at.fields("run.started")["metadata"] == {"notes": ["one"]}
    assert at.fields("checkpoint")["state"] == {"notes": ["one"]}
    assert at.artifact(at.fields("model_call.started")["request"]) == b'{"notes":["one"]}'
    assert at.artifact(at.fields("model_call.finished")["output"]) == b'{"notes":["one","two"]}'


def test_what_is_large_is_an_artifact_and_equal_ones_are_one(at: Recorded) -> None:
    large = {"text": "x" * 5_000}
    with at.client.with_run("run"):
        at.client.record_event("a", large)
        at.client.checkpoint("b", large)
    ref, other = at.fields("event")["data"], at.fields("checkpoint")["state"]
    assert ref == other
    assert (ref["bytes"], ref["mediaType"]) == (len(at.artifact(ref)), "application/json")
    assert len(at.memory.blobs) == 1


def test_a_raw_body_stays_byte_for_byte(at: Recorded) -> None:
    raw = b'{ "messages" : [ {"content":"\\u00e4 \xc3\xa4"} ] }\n'
    with at.client.with_run("run"):
        at.client.start_model_call("p", "m", "chat", request=raw)
    ref = at.fields("model_call.started")["request"]
    assert (at.artifact(ref), ref["mediaType"]) == (raw, "application/json")


def test_an_artifact_that_is_too_large_leaves_its_size() -> None:
    with recorded(max_record_bytes=10_000) as at:
        with at.client.with_run("run"):
            at.client.start_model_call("p", "m", "chat", request="x" * 20_000)
        assert at.fields("model_call.started")["request"] == {"$cut": "size: 20000 bytes"}


def test_a_map_that_looks_like_an_artifact_is_none(at: Recorded) -> None:
    forged = {"$artifact": "0" * 64, "bytes": 1, "mediaType": "text/plain"}
    with at.client.with_run("run"):
        at.client.record_event("a", forged)
        at.client.record_event("b", {"within": {"$artifact": "0" * 64}})
    from capture_sdk.runs.records import artifact_refs

    assert not [ref for each in at.events() for ref in artifact_refs(each.fields)]


def test_parameters_that_hold_messages_are_the_request(at: Recorded) -> None:
    with at.client.with_run("run"):
        at.client.start_model_call("p", "m", "chat", {"messages": []}, {"timeout": 3})
        at.client.start_model_call("p", "m", "chat", {"temperature": 0})
    first, second = at.events("model_call.started")
    assert at.artifact(first.fields["request"]) == b'{"messages":[]}'
    assert first.fields["settings"] == {"timeout": 3}
    assert second.fields["params"] == {"temperature": 0}
    assert "request" not in second.fields


def test_outside_of_a_run_nothing_is_raised_and_the_loss_is_counted(at: Recorded) -> None:
    at.client.record_event("lost")
    with at.client.tool_execution("lost") as execution:
        execution.finish(1)
    assert at.events() == []
    assert at.client.stats().lost == {"no_run": 3}


@pytest.mark.parametrize("run_id", ["x" * 201, "a\0b", 7])
def test_a_run_with_an_id_that_is_none_is_run_and_not_recorded(at: Recorded, run_id: Any) -> None:
    with at.client.with_run("run", run_id=run_id):
        at.client.record_event("lost")
    assert at.events() == []
    assert at.client.stats().lost == {"bad_id": 3}


def test_strange_values_cost_the_agent_nothing(at: Recorded) -> None:
    class Strange:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    with at.client.with_run(Strange(), Strange()) as run:  # type: ignore[arg-type]
        run.record_event(Strange(), Strange())  # type: ignore[arg-type]
        run.deny_tool(Strange(), Strange())  # type: ignore[arg-type]
        run.start_model_call(Strange(), None, 3, Strange(), Strange())  # type: ignore[arg-type]
        run.start_tool_execution(None, proposal=Strange()).finish(error=Strange())  # type: ignore[arg-type]
    assert status(at) == "ok"


def test_losses_go_with_later_events_and_leave_a_gap_in_the_sequence() -> None:
    with recorded(queue_items=3, batch_items=1, linger_seconds=0.05) as at:
        gate = threading.Event()
        write = at.memory.write_events
        at.memory.write_events = lambda parcels: (gate.wait(10), write(parcels))[1]  # type: ignore[method-assign]
        with at.client.with_run("run") as run:
            for number in range(20):
                run.record_event(f"event {number}")
            gate.set()
            assert not at.client.flush(5)
            run.record_event("later")
        events = at.events()
        lost = at.client.stats().lost["queue_full"]
        assert events[-1].losses == {"queue_full": lost}
        assert events[-1].sequence + 1 == len(events) + lost


def test_off_is_an_object_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_CAPTURE", "off")
    client = init(transport=MemoryTransport())
    with client.with_run("run") as run:
        assert (run.handover(), run.environment(), run.headers()) == ("", {}, {})
        with client.model_call("p", "m", "chat") as call:
            assert list(call.stream([1, 2])) == [1, 2]
    assert client.stats().accepted == 0
    assert client.close()


def test_init_reads_the_environment_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="AGENT_CAPTURE_REDIS_URL"):
        init(service_name="claims")
    with pytest.raises(ConfigError, match="service_name"):
        init(transport=MemoryTransport())
    with pytest.raises(ConfigError, match="did you mean queue_items"):
        init(service_name="claims", transport=MemoryTransport(), queue_item=3)
    monkeypatch.setenv("AGENT_CAPTURE_REDIS_URL", "redis://localhost:1")
    assert isinstance(init(service_name="claims"), RunClient)


def test_recording_an_event_costs_the_agent_little(at: Recorded) -> None:
    """A bound with room for a busy machine; the benchmark has the figures."""
    with at.client.with_run("run") as run:
        began = time.perf_counter()
        for number in range(1_000):
            run.record_event("step", {"number": number})
        assert (time.perf_counter() - began) / 1_000 < 0.0005
