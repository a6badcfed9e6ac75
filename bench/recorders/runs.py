"""The SDK's runs: each turn of the workload stands for a step of an agent, recorded event by event."""

from typing import Final

from bench.recorders.capture import CLOSE_SECONDS
from bench.workload import AGENT, Turn

RUN: Final = "bench"


class RunEvents:
    """One small event a turn. Its heirs record larger steps; ``events`` is how many a step is."""

    events = 1

    def __init__(self, url: str) -> None:
        from capture_sdk.runs import init

        self._client = init(redis_url=url, service_name=AGENT)
        self._run = self._client.with_run("benchmark", run_id=RUN)
        self._run.__enter__()

    def record(self, turn: Turn) -> None:
        """Something happened."""
        self._client.record_event("moved", turn.message)

    def flush(self, seconds: float) -> None:
        """Wait until all is written or lost."""
        self._client.flush(seconds)

    def close(self) -> None:
        """End the run, and close within the bound that the exit of a process has too."""
        self._run.__exit__(None, None, None)
        self._client.close(CLOSE_SECONDS)

    def lost(self) -> dict[str, int] | None:
        """The client's own count, with its reasons."""
        return dict(self._client.stats().lost)


class RunTools(RunEvents):
    """A tool call: proposed, begun, ended."""

    events = 3

    def record(self, turn: Turn) -> None:
        """A small tool, with what a move says as its arguments and its result."""
        proposal = self._client.record_tool_proposal("move", turn.message, call_id=turn.name)
        with self._client.tool_execution(
            "move", turn.message, proposal=proposal, side_effect_class="external"
        ) as execution:
            execution.finish(turn.message)


class RunCalls(RunEvents):
    """A model call: its request, with the whole prompt, and its answer, each an artifact."""

    events = 2

    def record(self, turn: Turn) -> None:
        """A chat request of the sizes of the workload."""
        request = {
            "model": "bench-1",
            "messages": [
                {"role": "system", "content": turn.envelope},
                {"role": "user", "content": turn.remainder},
            ],
        }
        with self._client.model_call("bench", "bench-1", "chat", request=request) as call:
            call.finish({"choices": [{"message": {"content": turn.response}}]}, usage={"total_tokens": 900})
