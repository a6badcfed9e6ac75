"""What was captured, read back through the HTTP API as anybody else would, and held against what was sent."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from django_redis import get_redis_connection

from capture_sdk.codec import dictionary_hash
from capture_sdk.keys import agents_key, dictionary_key, envelope_key, hand_key, turn_key

API: Final = "/internal/agent-capture/"
# For each turn (table, hand, action index) the sha256 of the prompt, from whoever received or assembled it.
Witness = Mapping[tuple[str, int, int], str]


@dataclass
class Account:
    """The figures of a run. ``turns`` are captured ones; sizes are bytes."""

    turns: int = 0
    fallbacks: int = 0
    clamped: int = 0
    verified: int = 0
    mismatched: int = 0
    missing: int = 0
    raw_bytes: int = 0
    envelopes: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    striking: dict[tuple[str, int], int] = field(default_factory=dict)

    def as_json(self, *, hands: int, pinned_hand: str | None, seconds: float) -> dict[str, Any]:
        """The one object that ``--json`` ends with."""
        return {
            "hands": hands,
            "turns": self.turns,
            "fallbacks": self.fallbacks,
            "clamped": self.clamped,
            "envelopes": len(self.envelopes),
            "turnsPerEnvelope": round(self.turns / len(self.envelopes), 1) if self.envelopes else 0,
            "verified": self.verified,
            "mismatched": self.mismatched,
            "missing": self.missing,
            "rawBytes": self.raw_bytes,
            "storedBytes": stored_bytes(self.keys | {envelope_key(each) for each in self.envelopes}),
            "pinnedHand": pinned_hand,
            "seconds": round(seconds, 1),
        }


class Reader:
    """Reads hands with a service key and adds them up."""

    def __init__(self, site_url: str, key: str) -> None:
        self._http = httpx.Client(base_url=site_url + API, headers={"X-Service-Key": key}, timeout=30)

    def account(self, hands: Iterable[tuple[str, int]], witness: Witness) -> Account:
        """Read every hand and every prompt of it, and hold each against the witness."""
        account = Account()
        for table_id, hand_number in hands:
            answer = self._get("hand-all", tableId=table_id, handNumber=hand_number).json()
            account.fallbacks += len(answer["fallbacks"])
            account.missing += len(answer["missing"])
            for turn in answer["turns"]:
                self._add(account, table_id, hand_number, turn, witness)
            clamped = sum(turn["isClamped"] for turn in answer["turns"])
            account.striking[table_id, hand_number] = 2 * bool(clamped) + bool(answer["fallbacks"])
        return account

    def pin(self, table_id: str, hand_number: int) -> None:
        """Pin every agent's turns of a hand."""
        answer = self._get("hand-all", tableId=table_id, handNumber=hand_number).json()
        for agent in sorted({row["agentId"] for row in answer["turns"]}):
            body = {"tableId": table_id, "handNumber": hand_number, "agentId": agent}
            self._http.post("promote", json=body).raise_for_status()

    def _add(
        self, account: Account, table_id: str, hand_number: int, turn: dict[str, Any], witness: Witness
    ) -> None:
        agent_id, index = turn["agentId"], turn["actionIndex"]
        where = {"tableId": table_id, "handNumber": hand_number, "agentId": agent_id, "actionIndex": index}
        prompt = self._get("prompt", **where).content
        is_same = hashlib.sha256(prompt).hexdigest() == witness.get((table_id, hand_number, index))
        account.turns += 1
        account.clamped += turn["isClamped"]
        account.verified += is_same
        account.mismatched += not is_same
        account.raw_bytes += len(prompt) + _raw_size(turn)
        account.keys |= {
            turn_key(table_id, hand_number, agent_id, index),
            hand_key(table_id, hand_number, agent_id),
            agents_key(table_id, hand_number),
        }
        if turn["envHash"]:
            account.envelopes.add(turn["envHash"])

    def _get(self, path: str, **params: Any) -> httpx.Response:
        return self._http.get(path, params=params).raise_for_status()


def stored_bytes(keys: Iterable[str]) -> int:
    """What these keys, and the dictionaries that turns among them need, take by the buffer's own account."""
    wanted = sorted(keys)
    with get_redis_connection("capture").pipeline(transaction=False) as pipe:
        for key in wanted:
            if key.startswith("turn:"):
                pipe.getrange(key, 0, 63)  # what a record needs stands at its beginning
        needed = {needs for head in pipe.execute() if (needs := dictionary_hash(head)) is not None}
        for key in [*wanted, *map(dictionary_key, sorted(needed))]:
            pipe.memory_usage(key, samples=0)
        return sum(size or 0 for size in pipe.execute())


def _raw_size(turn: dict[str, Any]) -> int:
    """The other three parts as text: what a recorder without sharing and compression would keep."""
    parts = [turn["knowledge"], turn["decision"], turn["response"], turn["reasoning"]]
    return sum(len(json.dumps(part, ensure_ascii=False).encode("utf-8", "surrogatepass")) for part in parts)
