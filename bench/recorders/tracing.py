"""Tracing SDKs of others: one trace a hand, and in it one model call a turn.

Settings are each library's defaults, save that it sends to the given URL and that its own telemetry is off
(``bench.run`` sets the environment for that).
"""

import datetime
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from bench.workload import Turn


class _Peer:
    """Opens a trace for each hand, and closes it when the next hand begins."""

    def __init__(self) -> None:
        self._hand: int | None = None
        self._trace: Any = None

    def record(self, turn: Turn) -> None:
        """Record the turn in the trace of its hand."""
        if turn.hand != self._hand:
            self._end()
            self._hand, self._trace = turn.hand, self._begin(f"hand-{turn.hand}")
        self._call(turn)

    def lost(self) -> dict[str, int] | None:
        """None of these libraries can be asked."""
        return None

    def _end(self) -> None:
        if self._trace is not None:
            self._trace.end()
            self._trace = None

    def _begin(self, name: str) -> Any:
        raise NotImplementedError

    def _call(self, turn: Turn) -> None:
        raise NotImplementedError


class OpenTelemetry(_Peer):
    """The OpenTelemetry SDK: a batch span processor in front of the OTLP exporter over HTTP."""

    def __init__(self, url: str) -> None:
        super().__init__()
        sdk = import_module("opentelemetry.sdk.trace")
        export = import_module("opentelemetry.sdk.trace.export")
        otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        self._provider = sdk.TracerProvider()
        exporter = otlp.OTLPSpanExporter(endpoint=f"{url}/v1/traces")
        self._provider.add_span_processor(export.BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("bench")
        self._inside: Callable[[Any], Any] = import_module("opentelemetry.trace").set_span_in_context

    def flush(self, seconds: float) -> None:
        """Export what waits."""
        self._end()
        self._provider.force_flush(int(seconds * 1_000))

    def close(self) -> None:
        """Shut the provider down, which flushes it."""
        self._end()
        self._provider.shutdown()

    def _begin(self, name: str) -> Any:
        return self._tracer.start_span(name)

    def _call(self, turn: Turn) -> None:
        # An attribute cannot hold nested data: whoever records it has to write it as text.
        seen = json.dumps({"knowledge": turn.knowledge, "decision": turn.message})
        attributes = {"gen_ai.request.model": "model-a", "input.value": turn.prompt, "metadata": seen}
        span = self._tracer.start_span(turn.name, context=self._inside(self._trace), attributes=attributes)
        span.set_attribute("output.value", turn.response)
        span.end()


class Langfuse(_Peer):
    """Langfuse: a generation in a span."""

    def __init__(self, url: str) -> None:
        super().__init__()
        client = import_module("langfuse").Langfuse
        self._client = client(public_key="pk-lf-bench", secret_key="sk-lf-bench", base_url=url)  # noqa: S106 - no secret

    def flush(self, seconds: float) -> None:
        """Export what waits; Langfuse has no bound for it."""
        self._end()
        self._client.flush()

    def close(self) -> None:
        """Shut the client down, which flushes it."""
        self._end()
        self._client.shutdown()

    def _begin(self, name: str) -> Any:
        return self._client.start_observation(name=name, as_type="span")

    def _call(self, turn: Turn) -> None:
        generation = self._trace.start_observation(
            name=turn.name,
            as_type="generation",
            model="model-a",
            input=turn.prompt,
            metadata={"knowledge": turn.knowledge, "decision": turn.message},
        )
        generation.update(output=turn.response)
        generation.end()


class Opik(_Peer):
    """Opik: a span begun before the model is asked and ended after."""

    def __init__(self, url: str) -> None:
        super().__init__()
        client = import_module("opik").Opik
        self._client = client(host=f"{url}/api", project_name="bench", _show_misconfiguration_message=False)

    def flush(self, seconds: float) -> None:
        """Send what waits."""
        self._end()
        self._client.flush(timeout=int(seconds))

    def close(self) -> None:
        """End the client, which flushes it."""
        self._end()
        self._client.end()

    def _begin(self, name: str) -> Any:
        return self._client.trace(name=name)

    def _call(self, turn: Turn) -> None:
        self._trace.span(**_opik_span(turn)).end(output={"response": turn.response})


class OpikAtOnce(Opik):
    """Opik's cheaper way: trace and span are made when they are over, one message each."""

    def _begin(self, name: str) -> Any:
        now = datetime.datetime.now(datetime.UTC)
        return self._client.trace(name=name, start_time=now, end_time=now)

    def _end(self) -> None:
        """It was made with its end."""

    def _call(self, turn: Turn) -> None:
        now = datetime.datetime.now(datetime.UTC)
        output = {"response": turn.response}
        self._trace.span(**_opik_span(turn), output=output, start_time=now, end_time=now)


def _opik_span(turn: Turn) -> dict[str, Any]:
    return {
        "name": turn.name,
        "type": "llm",
        "model": "model-a",
        "input": {"prompt": turn.prompt},
        "metadata": {"knowledge": turn.knowledge, "decision": turn.message},
    }
