"""The model, over an OpenAI-compatible HTTP API: answers come back raw, failures with what went wrong."""

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx


@dataclass(frozen=True, slots=True)
class Answer:
    """One call. ``status`` is ``ok``, an HTTP status, or ``timeout``; ``text`` is the raw completion."""

    status: str
    latency_ms: float
    text: str = ""
    reasoning: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    error: str | None = None


class Model:
    """Asks one endpoint. ``sent_log`` is a file to note the hash of every prompt that really went out."""

    def __init__(self, *, url: str, name: str, key: str, timeout: float, sent_log: Path) -> None:
        self.name = name
        self._sent_log = sent_log
        self._http = httpx.Client(
            base_url=url,
            timeout=timeout,
            headers={"Authorization": f"Bearer {key}"},
            event_hooks={"request": [self._note_sent]},
        )

    def ask(self, prompt: str, *, turn: str) -> Answer:
        """Send the prompt as one user message and wait for the completion; never raises for a failed call."""
        body = {"model": self.name, "messages": [{"role": "user", "content": prompt}]}
        started = time.monotonic()
        try:
            response = self._http.post("chat/completions", json=body, headers={"X-Turn": turn})
        except httpx.TimeoutException:
            return Answer("timeout", _since(started), error="no answer within the deadline")
        except httpx.HTTPError as exc:
            return Answer("unreachable", _since(started), error=type(exc).__name__)
        if response.status_code != httpx.codes.OK:
            return Answer(str(response.status_code), _since(started), response.text, error="the call failed")
        return _read(response, _since(started))

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _note_sent(self, request: httpx.Request) -> None:
        """From the body as it leaves, after every layer that could still have changed it."""
        content = json.loads(request.content)["messages"][0]["content"]
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        with self._sent_log.open("a", encoding="utf-8") as log:
            log.write(json.dumps([request.headers["X-Turn"], digest]) + "\n")


def _read(response: httpx.Response, latency_ms: float) -> Answer:
    try:
        completion = response.json()
        message = completion["choices"][0]["message"]
    except (ValueError, LookupError, TypeError):
        return Answer("unusable", latency_ms, response.text, error="not a completion")
    return Answer(
        "ok",
        latency_ms,
        message.get("content") or "",
        message.get("reasoning_content"),
        completion.get("model"),
        completion.get("usage"),
    )


def _since(started: float) -> float:
    return (time.monotonic() - started) * 1_000
