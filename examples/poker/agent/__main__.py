"""``python -m examples.poker.agent``: one process, one agent, a thread for each table where it sits.

The table's address, the tables, the token and the model's key come over standard input as one JSON object,
because command lines can be read by everybody on the machine.
"""

import contextlib
import json
import sys
import threading
from pathlib import Path
from typing import Any

from capture_sdk import Client
from capture_sdk.runs import RunClient, init
from examples.poker.agent.model import Model
from examples.poker.agent.profiles import PROFILES
from examples.poker.agent.seat import Seat


def main() -> None:
    """Sit down wherever the host says, play, and leave when every table has said goodbye."""
    orders: dict[str, Any] = json.loads(sys.stdin.readline())
    profile = PROFILES[orders["agentId"]]
    with Client.from_env() as client, init(project_id="poker", service_name=profile.name) as runs:
        threads = [
            threading.Thread(target=_sit, args=(orders, profile.name, table_id, client, runs), daemon=True)
            for table_id in orders["tables"]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _sit(orders: dict[str, Any], name: str, table_id: str, client: Client, runs: RunClient) -> None:
    model = Model(
        url=orders["modelUrl"],
        name=orders["model"],
        key=orders["modelKey"],
        timeout=orders["modelTimeout"],
        sent_log=Path(orders["sentLog"]),
    )
    with contextlib.closing(model):
        profile = PROFILES[name]
        seat = Seat(profile, table_id, token=orders["token"], client=client, model=model, runs=runs)
        seat.play((orders["host"], orders["port"]))


if __name__ == "__main__":
    main()
