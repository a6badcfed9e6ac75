"""Everything that is measured, one class each: it is made with a URL, records turns, flushes and closes.

Imports are lazy: each recorder runs in an environment that need not have the libraries of the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from bench.recorders.bare import BareMinimum, BareMinimumOrmsgpack, BarePipeline
from bench.recorders.capture import CaptureSdk, CaptureSdkWide, CaptureTransport
from bench.recorders.contract import Noop, Recorder
from bench.recorders.naive import Naive, NaiveSplit, NaiveSplitZstd
from bench.recorders.runs import RunCalls, RunEvents, RunTools
from bench.recorders.tracing import Langfuse, OpenTelemetry, Opik, OpikAtOnce


@dataclass(frozen=True, slots=True)
class Entry:
    """How a recorder is called in the tables, where it runs, and what it sends to."""

    title: str
    environment: str
    store: Literal["none", "redis", "http"]
    make: Callable[[str], Recorder]

    @property
    def is_peer(self) -> bool:
        """Whether it is somebody else's tracing SDK."""
        return self.store == "http"


BARE: Final = "bare"
CAPTURE: Final = "capture"
NOOP: Final = "noop"
OWN: Final = "project"  # the environment of the project itself
RECORDERS: Final[Mapping[str, Entry]] = {
    NOOP: Entry("noop", OWN, "none", Noop),
    BARE: Entry("bare minimum", "bare", "redis", BareMinimum),
    "bare-ormsgpack": Entry("bare minimum, ormsgpack", "bare", "redis", BareMinimumOrmsgpack),
    CAPTURE: Entry("capture_sdk", OWN, "redis", CaptureSdk),
    "otel": Entry("OpenTelemetry", "otel", "http", OpenTelemetry),
    "langfuse": Entry("Langfuse", "langfuse", "http", Langfuse),
    "opik": Entry("Opik", "opik", "http", Opik),
    "opik-at-once": Entry("Opik, one message a span", "opik", "http", OpikAtOnce),
    "capture-wide": Entry("capture_sdk", OWN, "redis", CaptureSdkWide),
    "capture-transport": Entry("capture_sdk, its transport alone", OWN, "redis", CaptureTransport),
    "run-event": Entry("a small event", OWN, "redis", RunEvents),
    "run-tool": Entry("a tool call: proposed, begun, ended", OWN, "redis", RunTools),
    "run-call": Entry("a model call with its request and answer", OWN, "redis", RunCalls),
    "bare-pipeline": Entry("bare pipeline of 64", "bare", "redis", BarePipeline),
    "naive": Entry("whole record, msgpack", "bare", "redis", Naive),
    "naive-split": Entry("envelope apart, msgpack", "bare", "redis", NaiveSplit),
    "naive-split-zstd": Entry("envelope apart, msgpack, zstd-1", "bare", "redis", NaiveSplitZstd),
}
