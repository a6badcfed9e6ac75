"""A scripted policy behind an OpenAI-compatible address, so that the demo needs no model.

It reads the prompt as a model would, answers by simple rules and a seed, and is meant to fail now and then:
HTTP 500, no answer before the deadline, text without JSON, and raises outside of the range. It keeps its own
sha256 of every prompt it received, by the turn that the caller names, for whoever wants to compare:
``GET /received``.
"""

import hashlib
import json
import random
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

MODEL: Final = "scripted-policy"
HANG_SECONDS: Final = 1.5  # longer than the demo's agents wait

_RANKS: Final = "23456789TJQKA"


class Received:
    """What came in: per turn the hash of each prompt, and how often the turn has asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.prompts: dict[str, list[str]] = {}

    def note(self, turn: str, content: str) -> int:
        """Keep the hash of a prompt; return which attempt of its turn it is, from 0."""
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            hashes = self.prompts.setdefault(turn, [])
            hashes.append(digest)
            return len(hashes) - 1


class Handler(BaseHTTPRequestHandler):
    """Speaks the two addresses; ``seed`` and ``received`` are set by ``serve``."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes, and nobody should wait between them
    seed = 0
    received = Received()

    def do_GET(self) -> None:
        """The record of what was received."""
        self._answer(200, self.received.prompts)

    def do_POST(self) -> None:
        """One chat completion, or one of the ways in which models fail."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = body["messages"][0]["content"]
        turn = self.headers.get("X-Turn", "")
        attempt = self.received.note(turn, content)
        dice = random.Random(f"{self.seed} {_without_run(turn)}")
        mood, stubborn = dice.random(), dice.random()
        fails = attempt == 0 or stubborn < 0.4  # some turns fail for good, most only once
        if mood < 0.02 and fails:
            self._answer(500, {"error": {"message": "the model is overloaded"}})
        elif mood < 0.03 and fails:
            time.sleep(HANG_SECONDS)
            self.close_connection = True
        elif mood < 0.05 and fails:
            self._complete(content, "I would rather not say what I do here. Ask me again tomorrow.", None)
        else:
            self._complete(content, *decide(content, dice))

    def log_message(self, format: str, *args: Any) -> None:
        """The demo's output is its own."""

    def _complete(self, prompt: str, text: str, reasoning: str | None) -> None:
        message = {"role": "assistant", "content": text}
        if reasoning is not None:
            message["reasoning_content"] = reasoning
        tokens = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4 + 1}
        self._answer(
            200,
            {
                "id": f"chatcmpl-{hashlib.sha256(prompt.encode()).hexdigest()[:12]}",
                "object": "chat.completion",
                "model": MODEL,
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": tokens | {"total_tokens": sum(tokens.values())},
            },
        )

    def _answer(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def decide(prompt: str, dice: random.Random) -> tuple[str, str | None]:
    """An answer as models give them: a few sentences, then JSON; sometimes with reasoning beside it."""
    strength = _strength(_found(r"^Your cards: (.*)$", prompt).split())
    to_call = int(_found(r"^- call (\d+)$", prompt) or 0)
    pot = int(_found(r"Pot (\d+)\.", prompt) or 0)
    low, high = (int(each) for each in (_found(r"^- raise to (\d+\.\.\d+)$", prompt) or "0..0").split(".."))
    price = to_call / (pot + to_call) if to_call else 0.0
    will = strength + dice.uniform(-0.25, 0.25)
    thought = f"My hand is worth about {strength:.2f}, and the price is {price:.2f}."
    if high and will > 0.92:
        action: dict[str, Any] = {"action": "raise", "amount": _raise(low, high, pot, dice)}
    elif to_call:
        action = {"action": "call" if will > price * 1.1 else "fold"}
    else:
        action = {"action": "check"}
    action["reason"] = "it fits the strategy that I was given"
    reasoning = f"{thought} I have thought about their ranges." if dice.random() < 0.3 else None
    return f"{thought}\n{json.dumps(action)}", reasoning


def _raise(low: int, high: int, pot: int, dice: random.Random) -> int:
    """Usually a sensible size; sometimes more than there is, or less than is allowed."""
    mood = dice.random()
    if mood < 0.08:
        return high + dice.randint(1, 200)
    if mood < 0.12:
        return max(low - dice.randint(1, 3), 0)
    return min(max(low, round(pot * dice.choice((0.5, 0.75, 1.0)))), high)


def _strength(cards: list[str]) -> float:
    """Of two cards, from about 0.2 to 1.0: high, paired, suited, close."""
    one, other = (_RANKS.index(card[0]) for card in cards)
    value = 0.3 + (one + other) / 48
    value += 0.3 if one == other else 0.0
    value += 0.06 if cards[0][1] == cards[1][1] else 0.0
    return min(value + (0.04 if abs(one - other) == 1 else 0.0), 1.0)


def _found(pattern: str, prompt: str) -> str:
    """The last match: the rules above the table speak of calls and pots too."""
    matches = re.findall(pattern, prompt, re.MULTILINE)
    return str(matches[-1]) if matches else ""


def _without_run(turn: str) -> str:
    """A turn's name without the part of its table id that differs from run to run."""
    return re.sub(r"^demo-[0-9a-z]+-", "demo-", turn)


class Server(ThreadingHTTPServer):
    """Bound to loopback; threads end with the process."""

    daemon_threads = True
    request_queue_size = 64


def main() -> None:
    """Serve on a free port of loopback, and print it."""
    Handler.seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_port, flush=True)  # noqa: T201 - how the caller learns the port
        server.serve_forever()


if __name__ == "__main__":
    main()
