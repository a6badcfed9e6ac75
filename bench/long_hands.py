"""Hands of sixty turns under prompts of 20 KB: what the server is asked for when somebody opens a long one.

The turns are the workload's, in their order, told as one hand; a prompt has the agent's notes in it too.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from typing import Any, Final

from bench.workload import Turn, lines, turn
from capture_sdk import Client, Config, Outbox
from capture_sdk.records import Charge

TABLE: Final = "table-07"
TURNS: Final = 60
_MODEL: Final = {"model": "model-a", "provider": "provider-a", "cost_micros": 4_100, "latency_ms": 1_900.0}


def fill(buffer_url: str, hands: range, agents: int) -> list[Charge]:
    """Play the hands with that many agents each, through the SDK, into the buffer; gives their charges.

    Raises RuntimeError when a turn did not arrive.
    """
    config = Config.of(redis_url=buffer_url, queue_items=1_000_000, queue_bytes=2**32)
    charges: list[Charge] = []
    source = _endless()
    for agent in range(agents):  # each plays in a process of its own, so each has its own client
        client = Client(config)
        for hand in hands:
            charges += [_play(client, hand, f"agent-{agent}", place, next(source)) for place in range(TURNS)]
        flushed = client.flush(120)
        client.close()
        if not flushed:
            raise RuntimeError(f"{flushed.pending} turns still wait, lost: {dict(flushed.lost)}")
    return charges


def prompt_bytes() -> int:
    """How long a prompt is on average, in bytes."""
    source = _endless()
    sizes = [
        len((each.envelope + each.remainder).encode()) for each, _ in zip(source, range(200), strict=False)
    ]
    return sum(sizes) // len(sizes)


def _endless() -> Iterator[Turn]:
    for number, line in enumerate(cycle(lines())):
        made = turn(line, number)
        notes = "\n".join(made.knowledge["notes"])
        yield replace(made, remainder=f"NOTES\n{notes}\n\n{made.remainder}")


def _play(client: Client, hand: int, agent: str, index: int, played: Turn) -> Charge:
    outbox: Outbox[dict[str, Any], None] = Outbox(lambda message: None)
    with client.turn(
        table_id=TABLE,
        hand_number=hand,
        agent_id=agent,
        action_index=index,
        agent_version_id=played.version,
        outbox=outbox,
    ) as opened:
        opened.knows(**played.knowledge)
        opened.prompt(played.envelope, played.remainder, joiner="")
        opened.response(played.response, **_MODEL)
        opened.parsed(played.message["action"], played.message["amount"])
        outbox.send(played.message)
    return opened.charge()
