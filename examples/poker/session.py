"""A session: tables, agents in processes of their own, the model's address, and the hands they play."""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
from django.conf import settings

from examples.poker.agent.profiles import PROFILES
from examples.poker.host.charges import Till
from examples.poker.host.lobby import Lobby
from examples.poker.host.table import Table, TableError
from examples.poker.policy_server import MODEL

SEATS: Final = 6
SCRIPTED_TIMEOUT: Final = 0.6  # the scripted policy answers in milliseconds, or means to be late
REAL_TIMEOUT: Final = 30.0
_ROOT: Final = Path(settings.BASE_DIR)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to play. ``base_url`` None means the scripted policy."""

    hands: int
    tables: int
    seed: int
    base_url: str | None = None
    model: str = MODEL
    api_key: str = ""


class Session:
    """Everything that has to be started before a hand can be played, and ended whatever happens."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.till = Till()
        self._stack = ExitStack()
        self._agents: list[subprocess.Popen[bytes]] = []
        self._run = _base36(int(time.time()))
        self.tables = [self._table(number) for number in range(1, plan.tables + 1)]
        self.hands = [
            (table.table_id, number + 1)
            for place, table in enumerate(self.tables)
            for number in range(len(range(place, plan.hands, plan.tables)))
        ]

    def __enter__(self) -> Self:
        with self._stack:  # what was started is ended again when a later step fails
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="poker-demo-")))
            self._sent_log = folder / "sent.jsonl"
            self._model_url = self.plan.base_url or self._start_policy()
            tokens = {name: secrets.token_urlsafe(24) for name in PROFILES}
            self._lobby = Lobby(self.tables, tokens)
            self._stack.callback(self._lobby.close)
            for name in PROFILES:
                self._start_agent(name, tokens[name])
            if not self._lobby.wait(30):
                raise TableError("an agent did not sit down; its error stands above")
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def play(self, progress: Callable[[int], None]) -> None:
        """Play every hand, the tables side by side; charges are settled from this thread meanwhile."""
        failures: list[Exception] = []
        done: list[int] = []

        def run(table: Table) -> None:
            try:
                for table_id, number in self.hands:
                    if table_id == table.table_id:
                        table.play(number)
                        done.append(number)
                table.close()
            except (TableError, OSError, ValueError) as exc:
                failures.append(exc)

        threads = [threading.Thread(target=run, args=(table,), daemon=True) for table in self.tables]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) and not failures:
            time.sleep(0.1)
            self.till.settle()
            progress(len(done))
        if failures:
            raise failures[0]
        for agent in self._agents:
            agent.wait(30)  # it leaves when its last turns are delivered
        self.till.settle()

    def witness(self) -> Mapping[tuple[str, int, int], str]:
        """The hash of each turn's prompt, as the scripted policy received it or as it left for a real one."""
        found: dict[tuple[str, int, int], str] = {}
        for turn, digest in self._hashes():
            table_id, hand_number, index = turn.rsplit(":", 2)
            found[table_id, int(hand_number), int(index)] = digest
        return found

    def _hashes(self) -> list[tuple[str, str]]:
        if self.plan.base_url is None:
            received = httpx.get(self._model_url.removesuffix("v1/") + "received", timeout=30).json()
            return [(turn, digest) for turn, hashes in received.items() for digest in hashes]
        lines = self._sent_log.read_text(encoding="utf-8").splitlines()
        return [(found[0], found[1]) for found in (json.loads(line) for line in lines)]

    def _table(self, number: int) -> Table:
        names = list(PROFILES)
        chosen = [names[(number - 1 + place) % len(names)] for place in range(SEATS)]
        return Table(
            f"demo-{self._run}-{number}",
            chosen,
            seed=self.plan.seed * 1_000 + number,
            charged=self.till.take,
            drops={2: "*"} if number == 1 else {},
        )

    def _start_policy(self) -> str:
        process = self._start([sys.executable, "-m", "examples.poker.policy_server", str(self.plan.seed)], {})
        line = process.stdout.readline() if process.stdout is not None else b""
        if not line.strip():
            raise TableError("the scripted policy did not start; its error stands above")
        return f"http://127.0.0.1:{int(line)}/v1/"

    def _start_agent(self, name: str, token: str) -> None:
        """An agent gets the buffer's address and nothing else of the host's environment."""
        orders = {
            "agentId": name,
            "token": token,
            "tables": [table.table_id for table in self.tables if name in table.chairs],
            "host": "127.0.0.1",
            "port": self._lobby.port,
            "modelUrl": self._model_url,
            "model": self.plan.model,
            "modelKey": self.plan.api_key or "none",
            "modelTimeout": REAL_TIMEOUT if self.plan.base_url else SCRIPTED_TIMEOUT,
            "sentLog": str(self._sent_log),
        }
        process = self._start([sys.executable, "-m", "examples.poker.agent"], _capture())
        if process.stdin is not None:
            process.stdin.write(json.dumps(orders).encode() + b"\n")
            process.stdin.close()
        self._agents.append(process)

    def _start(self, command: list[str], extra: dict[str, str]) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            command, cwd=_ROOT, env=_environment() | extra, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._stack.callback(_end, process)
        return process


def settle_claims() -> None:
    """Let the claims agent work; its process ends in the middle of its last claim, as its own words have it."""
    command = [sys.executable, "-m", "examples.claims"]
    subprocess.run(command, cwd=_ROOT, env=_environment() | _capture(), timeout=60, check=False)


def _environment() -> dict[str, str]:
    """Nothing of the host's own secrets."""
    return {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}


def _capture() -> dict[str, str]:
    """What an agent is told of the buffer."""
    caches: dict[str, Any] = settings.CACHES
    return {
        "AGENT_CAPTURE_REDIS_URL": str(caches["capture"]["LOCATION"]),
        "CAPTURE_TTL_SECONDS": str(settings.CAPTURE_TTL_SECONDS),
    }


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask, then insist."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits or "0"
