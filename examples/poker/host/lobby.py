"""Where agents come in: one listening socket, tokens checked, each connection led to its chair."""

import hmac
import json
import socket
import threading
from typing import Any

from examples.poker.host.table import Chair, Table

Frame = dict[str, Any]


class Lobby:
    """Accepts agents on loopback and seats them; ``tokens`` are by agent id."""

    def __init__(self, tables: list[Table], tokens: dict[str, str]) -> None:
        self._chairs = {
            (table.table_id, agent): chair for table in tables for agent, chair in table.chairs.items()
        }
        self._tokens = tokens
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, name="lobby", daemon=True).start()

    @property
    def port(self) -> int:
        """Where agents connect."""
        port: int = self._listener.getsockname()[1]
        return port

    def wait(self, seconds: float) -> bool:
        """Wait until everybody sits."""
        return all(chair.is_seated.wait(seconds) for chair in self._chairs.values())

    def close(self) -> None:
        """Let nobody else in."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # frames are small and come in rows
        with connection, connection.makefile("r", encoding="utf-8") as lines:
            chair = self._admit(json.loads(lines.readline()))
            if chair is None or json.loads(lines.readline()).get("type") != "sit":
                return
            chair.connection = connection
            chair.is_seated.set()
            try:
                for line in lines:
                    chair.inbox.put(json.loads(line))
            except OSError:
                return  # the connection broke; the agent comes back over another

    def _admit(self, enter: Frame) -> Chair | None:
        agent, token = enter.get("agentId", ""), enter.get("agentToken", "")
        if not hmac.compare_digest(self._tokens.get(agent, ""), token) or not token:
            return None
        return self._chairs.get((enter.get("tableId", ""), agent))
