"""A client whose runs can be looked at without a store."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from capture_sdk import CapturePolicy, MemoryTransport
from capture_sdk.runs import RunClient, RunEvent, init
from capture_sdk.runs.records import ARTIFACT


class Recorded:
    """A client, and what it has written so far."""

    def __init__(self, **options: Any) -> None:
        self.memory = MemoryTransport()
        options = {"linger_seconds": 0.001} | options
        self.client: RunClient = init("shop", service_name="claims", transport=self.memory, **options)

    def events(self, kind: str | None = None) -> list[RunEvent]:
        """Everything recorded, or all of one kind, in the order of arrival."""
        self.client.flush(5)
        return [each for each in self.memory.events() if kind is None or each.kind == kind]

    def fields(self, kind: str) -> dict[str, Any]:
        """The body of the only event of a kind."""
        (event,) = self.events(kind)
        return event.fields

    def artifact(self, ref: Any) -> bytes:
        """The artifact that stands in a body."""
        return self.memory.blobs[ref[ARTIFACT]]

    def everything(self) -> bytes:
        """All that left the process, in one text: for what must not be in it."""
        import json

        from capture_sdk.freeze import jsonable, unpack

        bodies = [json.dumps(jsonable(unpack(each.body)), ensure_ascii=False) for each in self.events()]
        return "\n".join(bodies).encode() + b"\n" + b"\n".join(self.memory.blobs.values())


@contextmanager
def recorded(policy: CapturePolicy | None = None, **options: Any) -> Iterator[Recorded]:
    """A recorder that is closed at the end."""
    made = Recorded(capture_policy=policy, **options)
    try:
        yield made
    finally:
        made.client.close(1)
