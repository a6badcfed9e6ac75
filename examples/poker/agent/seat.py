"""One agent at one table: its connection, its memory, its outbox and its turns."""

import json
import socket
from collections.abc import Iterator
from typing import Any

from capture_sdk import Client, Outbox, Turn
from capture_sdk.runs import RunClient
from capture_sdk.wire import charge_json
from examples.poker.agent.decide import Action, make_legal, parse, safe
from examples.poker.agent.memory import Memory
from examples.poker.agent.model import Model
from examples.poker.agent.profiles import Profile
from examples.poker.agent.prompting import build_remainder

Frame = dict[str, Any]

ATTEMPTS = 2  # calls to the model before the seat plays safe


class Seat:
    """Plays until the table says goodbye: one run, to which the turns belong. ``token`` proves who sits here."""

    def __init__(
        self,
        profile: Profile,
        table_id: str,
        *,
        token: str,
        client: Client,
        model: Model,
        runs: RunClient | None = None,
    ) -> None:
        self.profile, self.table_id = profile, table_id
        self.client, self.model, self.runs = client, model, runs or RunClient.off()
        self.memory = Memory()
        # The one door out: what passes during a turn is its decision, and no copy holds the token.
        self.outbox: Outbox[Frame, None] = Outbox(self._write, secrets=[token])
        self._token = token
        self._connection: socket.socket | None = None

    def play(self, address: tuple[str, int]) -> None:
        """Sit down and play; after a lost connection sit down again, with what memory is left."""
        with self.runs.with_run(f"at {self.table_id}", {"version": self.profile.version}) as run:
            while True:
                with socket.create_connection(address) as self._connection:
                    self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._enter()
                    if self._follow(self._connection):
                        return
                run.record_event("connection.lost", {"forgotten": len(self.memory.action_log)})
                self.memory.lose_connection()

    def _enter(self) -> None:
        """Enter and sit go through the outbox too: outside a turn they pass and are not recorded."""
        seat = {"agentId": self.profile.name, "tableId": self.table_id}
        self.outbox.send({"type": "enter", **seat, "agentToken": self._token})
        self.outbox.send({"type": "sit", **seat})

    def _follow(self, connection: socket.socket) -> bool:
        """Live through the table's frames; true when it said goodbye, false when the connection was lost."""
        for frame in _frames(connection):
            self.memory.take_in(frame)
            match frame["type"]:
                case "your_turn":
                    self.take_turn(frame)
                case "blind_due":
                    self.outbox.send({"type": "post_blind", "amount": frame["amount"]})
                case "goodbye":
                    self.outbox.send({"type": "stand"})
                    return True
        return False

    def take_turn(self, frame: Frame) -> None:
        """Know, be told, answer, send; then report what it cost."""
        with self.client.turn(
            table_id=self.table_id,
            hand_number=frame["handNumber"],
            agent_id=self.profile.name,
            action_index=frame["actionIndex"],
            agent_version_id=self.profile.version,
            outbox=self.outbox,
        ) as turn:
            envelope = self.profile.envelope
            remainder = build_remainder(
                state=self.memory.state,
                your_turn=frame,
                action_log=self.memory.action_log,
                hand_history=self.memory.hand_history,
                notes=self.memory.notes,
            )
            turn.prompt(envelope, remainder)
            action = self._decide(turn, f"{envelope}\n{remainder}", frame)
            self.outbox.send({"type": "action", "actionIndex": frame["actionIndex"], **_message(action)})
        self.outbox.send({"type": "usage_report", "charge": charge_json(turn.charge())})

    def _decide(self, turn: Turn, prompt: str, frame: Frame) -> Action:
        """Ask until an answer can be read, a bounded number of times; then play safe, and say so."""
        reason = "no answer"
        for _ in range(ATTEMPTS):
            answer = self.model.ask(
                prompt, turn=f"{self.table_id}:{frame['handNumber']}:{frame['actionIndex']}"
            )
            action = parse(answer.text) if answer.status == "ok" else None
            facts: dict[str, Any] = {
                "latency_ms": answer.latency_ms,
                "reasoning": answer.reasoning,
                "model": answer.model or self.model.name,
                "provider": "openai-compatible",
                "usage": answer.usage,
                "cost_micros": cost_micros(answer.usage),
            }
            if action is not None:
                turn.response(answer.text, **facts)
                return self._legal(turn, action, frame)
            reason = "unusable" if answer.status == "ok" else answer.status
            turn.attempt(reason, response=answer.text, error=answer.error, **facts)
        turn.fallback(reason)
        return safe(frame)

    def _legal(self, turn: Turn, action: Action, frame: Frame) -> Action:
        turn.parsed(action.name, action.amount)
        corrected, corrections = make_legal(action, frame)
        for each in corrections:
            turn.adjusted(each.rule, each.before, each.after, each.why)
        return corrected

    def _write(self, message: Frame) -> None:
        if self._connection is None:
            raise ConnectionError("not connected")
        # outbox: allowed because this is the real send that the outbox wraps
        self._connection.sendall(json.dumps(message).encode() + b"\n")


def cost_micros(usage: Frame | None) -> int | None:
    """A price as small models have it: 0.15 and 0.60 dollars per million tokens in and out."""
    if usage is None:
        return None
    told, answered = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    return int(told * 0.15 + answered * 0.6)


def _message(action: Action) -> Frame:
    return {"action": action.name} | ({"amount": action.amount} if action.amount is not None else {})


def _frames(connection: socket.socket) -> Iterator[Frame]:
    """Frames are JSON, one a line. A connection that breaks off ends them."""
    with connection.makefile("r", encoding="utf-8") as lines:
        try:
            for line in lines:
                yield json.loads(line)
        except ConnectionError:
            return
