"""``python -m examples.claims``: a few claims, of which not every one ends well. The last one ends the process."""

import os
from dataclasses import replace
from typing import Final

from capture_sdk.runs import RunClient, init
from examples.claims.agent import Claim, settle
from examples.claims.tools import TOOLS, StoreDown

CLAIMS: Final = (
    Claim(101, "P-17", "the storm took the roof"),
    Claim(102, "P-18", "the storm took the greenhouse", limit=3_000),
    Claim(103, "P-404", "the storm took the policy store as well"),
)
KILLED: Final = Claim(104, "P-19", "the storm took the power")


def main() -> None:
    """Settle the claims; in the middle of the last one the process is gone."""
    client = init(project_id="claims", service_name="claims-agent")
    for claim in CLAIMS:
        try:
            settle(client, claim)
        except StoreDown:
            continue  # its run says so
    _lose_power(client)
    settle(client, KILLED)


def _lose_power(client: RunClient) -> None:
    """What a kill does, from outside: nothing of the agent's is told."""

    def killed(arguments: dict[str, object]) -> dict[str, object]:
        client.flush()  # the thread that delivers had its moment
        os._exit(9)

    TOOLS["estimate_damage"] = replace(TOOLS["estimate_damage"], run=killed)


if __name__ == "__main__":
    main()
