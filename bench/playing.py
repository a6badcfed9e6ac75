"""Turns played through the SDK, for what is measured behind it: the server, its buffer and its tables."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import cycle, islice
from typing import Any, Final

from bench.recorders.capture import Collector
from bench.workload import Turn, endless, lines, lines_of_prose, turn
from capture_sdk import Client, Config, Outbox
from capture_sdk.records import Charge, TurnKey
from capture_sdk.runs import init
from capture_sdk.transports import Parcel

TABLE: Final = "table-07"
LONG: Final = 60  # turns of a long hand
RUN_EVENTS: Final = 20_000  # of a long run
_STREETS: Final = (("preflop", 0), ("flop", 3), ("turn", 4), ("river", 5))
_BOARD: Final = ("Ts", "5h", "Ah", "8d", "2h")
_ENDLESS: Final[dict[str, Any]] = {
    "queue_items": 1_000_000,
    "queue_bytes": 2**32,
}  # a queue that takes whatever comes at once


def fill(
    buffer_url: str, hands: Iterable[int], *, agents: int, turns: int = LONG, more: int = 0
) -> list[Charge]:
    """Play hands of so many turns an agent, under prompts of 20 KB and ``more``, into the buffer; gives their charges.

    Raises RuntimeError when a turn did not arrive.
    """
    charges: list[Charge] = []
    for agent in range(agents):  # each of them plays in a process of its own, so each has a client of its own
        client, supply = Client(Config.of(redis_url=buffer_url, **_ENDLESS)), long_turns(more)
        for hand in hands:
            keys = [TurnKey(TABLE, hand, f"agent-{agent}", index) for index in range(turns)]
            charges += [play(client, key, next(supply)) for key in keys]
        flushed = client.flush(120)
        client.close()
        if not flushed:
            raise RuntimeError(f"{flushed.pending} turns still wait, lost: {dict(flushed.lost)}")
    return charges


def collect(table: str, agent: str, count: int) -> tuple[list[Parcel], list[Charge]]:
    """The workload's turns as the HTTP transport gets them, and their charges."""
    collector = Collector(takes_dictionaries=False)
    client = Client(Config.of(**_ENDLESS), transport=collector)
    charges = [
        play(client, TurnKey(table, each.hand, agent, each.action_index), each)
        for each in islice(endless(lines()), count)
    ]
    client.close(60)
    return collector.parcels, charges


def record_run(buffer_url: str, agent: str, run_id: str) -> None:
    """Record a run of ``RUN_EVENTS`` into the buffer: model calls, each with a tool proposed and executed.

    Raises RuntimeError when an event did not arrive.
    """
    client = init(service_name=agent, redis_url=buffer_url, **_ENDLESS)
    with client.with_run("a long one", run_id=run_id):
        for step in range((RUN_EVENTS - 2) // 6):
            with client.model_call("openai", "m", "chat", request={"messages": [{"role": "user"}]}) as call:
                call.finish({"content": f"step {step}"}, usage={"total_tokens": step})
            proposal = client.record_tool_proposal("look", {"step": step}, call=call)
            with client.tool_execution(
                "look", {"step": step}, proposal=proposal, side_effect_class="read"
            ) as look:
                look.finish({"found": "x" * 60})
            client.checkpoint("after-tool", {"step": step}, is_whole=True)
        for rest in range((RUN_EVENTS - 2) % 6):
            client.record_event("the rest", {"number": rest})
    flushed = client.flush(120)
    client.close()
    if not flushed:
        raise RuntimeError(f"{flushed.pending} events still wait, lost: {dict(flushed.lost)}")


def long_turns(more: int = 0) -> Iterator[Turn]:
    """The workload's turns, one after the other without end, with the agent's notes in the prompt too.

    They are of many short hands and stand for one long one: each ``LONG`` of them know one board, which grows as a
    hand's does. ``more`` characters stand behind, the same in all of them.
    """
    memory = lines_of_prose(more)
    for number, line in enumerate(cycle(lines())):
        made = turn(line, number)
        made.knowledge["state"] |= _street(number % LONG)
        notes = "\n".join(made.knowledge["notes"])
        yield replace(made, remainder=f"NOTES\n{notes}\n\n{made.remainder}{memory}")


def _street(place: int) -> dict[str, object]:
    name, cards = _STREETS[place * len(_STREETS) // LONG]
    return {"street": name, "board": list(_BOARD[:cards])}


def prompt_bytes() -> int:
    """How long a prompt of ``long_turns`` is on average, in bytes."""
    sizes = [len((each.envelope + each.remainder).encode()) for each in islice(long_turns(), LONG)]
    return sum(sizes) // len(sizes)


def play(client: Client, key: TurnKey, played: Turn) -> Charge:
    """Every verb of a turn once."""
    outbox: Outbox[dict[str, Any], None] = Outbox(lambda message: None)
    with client.turn(
        table_id=key.table_id,
        hand_number=key.hand_number,
        agent_id=key.agent_id,
        action_index=key.action_index,
        agent_version_id=played.version,
        outbox=outbox,
    ) as opened:
        opened.knows(**played.knowledge)
        opened.prompt(played.envelope, played.remainder, joiner="")
        opened.response(
            played.response, model="model-a", provider="provider-a", cost_micros=4_100, latency_ms=1_900.0
        )
        opened.parsed(played.message["action"], played.message["amount"])
        outbox.send(played.message)
    return opened.charge()
