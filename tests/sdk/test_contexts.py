"""A record belongs to the agent and the turn that made it, in every kind of process."""

import asyncio
import contextlib
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from capture_sdk import Client, MemoryTransport, current_turn, knowledge
from capture_sdk.freeze import unpack
from tests.build import Seat, memory_client


@knowledge
def build(me: str) -> str:
    return f"prompt of {me}"


def owners(transport: MemoryTransport) -> set[tuple[str, Any, Any]]:
    """Who each record belongs to, and whose knowledge and answer it holds."""
    return {
        (each.key.agent_id, unpack(each.knowledge)["me"], each.response)  # type: ignore[index, arg-type]
        for each in transport.records()
    }


def test_agents_in_a_thread_pool_do_not_mix() -> None:
    client, transport = memory_client()

    def play(number: int) -> None:
        agent = f"agent-{number % 5}"
        with Seat(client, agent).turn(number) as turn:
            build(agent)
            turn.response(agent)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(play, range(200)))
    assert client.flush(5)
    assert len(transport.records()) == 200
    assert owners(transport) == {(f"agent-{n}",) * 3 for n in range(5)}


def test_a_turn_is_carried_into_another_thread_on_request() -> None:
    client, transport = memory_client()
    with ThreadPoolExecutor(2) as pool, Seat(client).turn(1) as turn:
        assert pool.submit(current_turn).result() is None
        pool.submit(turn.carry(build), "carried").result()
        turn.response("ok")
    assert client.flush(5)
    assert unpack(transport.records()[0].knowledge or b"") == {"me": "carried"}


def test_to_thread_carries_the_turn_by_itself() -> None:
    client, transport = memory_client()

    async def run() -> None:
        async with Seat(client).turn(1) as turn:
            await asyncio.to_thread(build, "in a thread")
            turn.response("ok")

    asyncio.run(run())
    assert client.flush(5)
    assert unpack(transport.records()[0].knowledge or b"") == {"me": "in a thread"}


def test_generators_that_take_turns_in_one_thread_do_not_mix() -> None:
    client, transport = memory_client()

    def agent(name: str) -> Iterator[None]:
        with Seat(client, name).turn(1) as turn:
            yield
            build(name)
            yield
            assert current_turn() is turn
            turn.response(name)

    steps = [agent(f"agent-{number}") for number in range(4)]
    for _ in range(3):
        for each in steps:
            next(each, None)
    assert current_turn() is None
    assert client.flush(5)
    assert owners(transport) == {(f"agent-{n}",) * 3 for n in range(4)}


def test_a_turn_within_a_turn_leaves_the_outer_one_open() -> None:
    client, transport = memory_client()
    with Seat(client, "outer").turn(1) as outer:
        with Seat(client, "inner").turn(1) as inner:
            build("inner")
            inner.response("inner")
        assert current_turn() is outer
        build("outer")
        outer.response("outer")
    assert client.flush(5)
    assert owners(transport) == {("inner",) * 3, ("outer",) * 3}


def test_a_task_that_outlives_its_turn_belongs_to_none() -> None:
    client, transport = memory_client()

    async def late() -> None:
        await asyncio.sleep(0.01)
        assert current_turn() is None
        build("late")

    async def run() -> None:
        async with Seat(client).turn(1) as turn:
            task = asyncio.create_task(late())
            build("in time")
            turn.response("ok")
        await task

    asyncio.run(run())
    assert client.flush(5)
    assert unpack(transport.records()[0].knowledge or b"") == {"me": "in time"}


def test_messages_of_two_turns_that_share_an_outbox_are_told_apart_by_their_tasks() -> None:
    client, transport = memory_client()
    at = Seat(client)

    async def play(index: int) -> None:
        async with at.turn(index) as turn:
            await asyncio.sleep(0)
            at.outbox.send({"action": "call", "amount": index})
            await asyncio.sleep(0)
            turn.response(str(index))

    async def run() -> None:
        await asyncio.gather(*(play(index) for index in range(5)))

    asyncio.run(run())
    assert client.flush(5)
    for record in transport.records():
        assert record.sent == ("call", record.key.action_index)


def test_an_event_loop_is_never_held_by_delivery(redis: Any) -> None:
    """The longest gap between two ticks of a loop while 200 large turns are delivered."""
    from tests.build import redis_client

    at = Seat(redis_client(redis))
    gaps: list[float] = []

    async def tick(stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        while not stop.is_set():
            before = loop.time()
            await asyncio.sleep(0.001)
            gaps.append(loop.time() - before - 0.001)

    async def run() -> None:
        stop = asyncio.Event()
        ticking = asyncio.create_task(tick(stop))
        for index in range(200):
            async with at.turn(index) as turn:
                turn.knows(log=["seat 3 raises to 120"] * 400)
                turn.prompt("x" * 12_000, "y" * 8_000)
                turn.response("z" * 1_200)
            await asyncio.sleep(0)
        stop.set()
        await ticking

    asyncio.run(run())
    assert at.client.flush(10)
    assert sorted(gaps)[-3] < 0.05


# Processes.


def program(body: str) -> str:
    return "from capture_sdk import Client\n" + textwrap.dedent(
        """
        def play(client, agent, index=1):
            with client.turn(table_id="t", hand_number=1, agent_id=agent, action_index=index) as turn:
                turn.response(agent)
        """
    ) + textwrap.dedent(body)  # fmt: skip


def environment(redis_url: str) -> dict[str, str]:
    return {**os.environ, "AGENT_CAPTURE_REDIS_URL": redis_url, "PYTHONPATH": str(Path(__file__).parents[2])}


def run(body: str, redis_url: str, tmp_path: Path) -> None:
    path = tmp_path / "agents.py"
    path.write_text(program(body))
    subprocess.run(
        [sys.executable, str(path)],
        check=True,
        timeout=60,
        env=environment(redis_url),
    )


def agents(redis: Any) -> set[str]:
    return {member.decode() for member in redis.smembers("agents:t:1")}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_started_in_any_way_deliver_their_own_turns(
    redis: Any, redis_url: str, tmp_path: Path, method: str
) -> None:
    run(
        f"""
        client = Client.from_env()

        def work(agent):
            play(client, agent)

        if __name__ == "__main__":
            import multiprocessing
            play(client, "parent")
            context = multiprocessing.get_context({method!r})
            children = [context.Process(target=work, args=(f"child-{{n}}",)) for n in range(3)]
            for child in children: child.start()
            for child in children: child.join()
            assert [child.exitcode for child in children] == [0, 0, 0]
        """,
        redis_url,
        tmp_path,
    )
    assert agents(redis) == {"parent", "child-0", "child-1", "child-2"}


def test_recycled_workers_deliver_before_they_end(redis: Any, redis_url: str, tmp_path: Path) -> None:
    run(
        """
        client = Client.from_env()

        def work(index):
            play(client, f"job-{index}", index)

        if __name__ == "__main__":
            import multiprocessing
            with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=3) as pool:
                pool.map(work, range(24), chunksize=1)
                pool.close()
                pool.join()
        """,
        redis_url,
        tmp_path,
    )
    assert agents(redis) == {f"job-{index}" for index in range(24)}


def test_a_server_that_preloads_and_forks_its_workers(redis: Any, redis_url: str, tmp_path: Path) -> None:
    path = tmp_path / "app.py"
    path.write_text(
        program(
            """
            import os
            client = Client.from_env()
            play(client, "master")

            def app(environ, start_response):
                play(client, f"worker-{os.getpid()}", int(environ["PATH_INFO"].strip("/")))
                start_response("200 OK", [("Content-Length", "2")])
                return [b"ok"]
            """
        )
    )
    socket = tmp_path / "gunicorn.sock"
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "gunicorn",
            "--preload",
            "--workers",
            "2",
            "--bind",
            f"unix:{socket}",
            "app:app",
        ],
        cwd=tmp_path,
        env=environment(redis_url),
        stderr=subprocess.DEVNULL,
    )
    try:
        for index in range(1, 21):
            assert ask(socket, f"/{index}") == b"ok"
    finally:
        server.terminate()
        server.wait(30)
    found = agents(redis)
    assert "master" in found
    workers = [agent for agent in found if agent.startswith("worker-")]
    assert workers
    assert sum(redis.scard(f"hand:t:1:{agent}") for agent in workers) == 20


def ask(socket_path: Path, path: str) -> bytes:
    """A plain HTTP request over a unix socket, tried until the server listens."""
    import socket
    import time

    for _ in range(200):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(socket_path))
            connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
            if answer:
                return answer.partition(b"\r\n\r\n")[2]
        time.sleep(0.05)
    raise AssertionError("the server did not answer")


def test_a_fork_in_the_middle_of_a_turn_leaves_it_to_its_parent(
    redis: Any, redis_url: str, tmp_path: Path
) -> None:
    run(
        """
        import os
        client = Client.from_env()
        with client.turn(table_id="t", hand_number=1, agent_id="before", action_index=1) as turn:
            turn.response("ok")
            pid = os.fork()
            if pid == 0:
                play(client, "child")
                client.close()
                os._exit(0)
            os.waitpid(pid, 0)
        """,
        redis_url,
        tmp_path,
    )
    assert agents(redis) == {"before", "child"}


def test_a_turn_that_ends_with_the_interpreter_is_delivered_or_counted(
    redis: Any, redis_url: str, tmp_path: Path
) -> None:
    out = tmp_path / "said"
    run(
        f"""
        import atexit
        @atexit.register
        def last():
            play(client, "late")
            open({str(out)!r}, "w").write(repr(dict(client.stats().lost)))
        client = Client.from_env()
        play(client, "early")
        """,
        redis_url,
        tmp_path,
    )
    assert "early" in agents(redis)
    assert "late" in agents(redis) or out.read_text() == "{'closed': 1}"


def test_many_threads_may_open_the_first_turn_at_once() -> None:
    client, transport = memory_client()
    gate = threading.Barrier(16)

    def play(number: int) -> None:
        gate.wait()
        with Seat(client, f"a{number}").turn(1) as turn:
            turn.response("ok")

    threads = [threading.Thread(target=play, args=(number,)) for number in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert client.flush(5)
    assert len(transport.records()) == 16
    assert sum(each.name == "capture-delivery" and each.is_alive() for each in threading.enumerate()) >= 1


def test_a_client_that_is_never_used_starts_no_thread() -> None:
    before = threading.active_count()
    Client(transport=MemoryTransport())
    assert threading.active_count() == before
    assert multiprocessing.current_process().is_alive()
