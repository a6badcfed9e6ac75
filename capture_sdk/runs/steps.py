"""What is opened and closed within a run: a model call, a tool execution; and a proposal, which is neither."""

import sys
import threading
import time
from collections.abc import AsyncIterable, Iterable, Mapping
from types import FrameType, TracebackType
from typing import Final, Literal, Self, TypeVar

from capture_sdk.runs.drafts import UNSET, NotGiven, Streamed, Writer, fault_of, status_of
from capture_sdk.runs.records import EventKind, SideEffect, Status
from capture_sdk.runs.streams import AsyncStream, Stream
from capture_sdk.scopes import RunScope

Chunk = TypeVar("Chunk")

_STATUSES: Final = tuple(Status)


class Within(RunScope):
    """What events happen in: ``writer`` takes them, and ``event_id`` is their parent's id."""

    def __init__(self, writer: Writer, event_id: str | None) -> None:
        self.writer = writer
        self.key = writer.key
        self.event_id = event_id

    def __enter__(self) -> Self:
        self._open(sys._getframe(1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        try:
            self.close_here()
            self._left(error)
        except Exception as exc:  # noqa: BLE001 - promise 1: never raise into the agent
            self.writer.sink.fault("close", exc)
        return False

    async def __aenter__(self) -> Self:
        self._open(sys._getframe(1))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        return self.__exit__(kind, error, trace)

    def _open(self, frame: FrameType) -> None:
        try:
            self._begin()
            self.open_at(frame)
        except Exception as exc:  # noqa: BLE001 - as above
            self.writer.sink.fault("open", exc)

    def _begin(self) -> None:
        """Record the begin of it, where that has not been done."""

    def _left(self, error: BaseException | None) -> None:
        """Record the end of it."""
        raise NotImplementedError


class Step(Within):
    """Something that began with one event and ends with another, once: ``with``, ``async with`` or ``finish``."""

    closes: EventKind
    names_it: str

    def __init__(self, writer: Writer, event_id: str | None, parent_id: str | None) -> None:
        super().__init__(writer, event_id)
        self._parent_id = parent_id
        self._once = threading.Lock()  # taken, and never given back, by whoever closes it
        self.began = time.perf_counter()

    def finish(
        self,
        output: object = UNSET,
        *,
        usage: object = UNSET,
        logprobs: object = UNSET,
        error: object = None,
        status: Status | str | None = None,
    ) -> None:
        """State how it ended; only the first statement counts. ``error`` is an exception, a text or a map.

        ``status`` is told by ``error`` where it is none of ``Status``. What is not given is absent from the record,
        where None is *nothing*.
        """
        try:
            if self._once.acquire(blocking=False):
                fields = {"status": str(self._status(error) if status not in _STATUSES else status)}
                self._close({**fields, "output": output, "usage": usage, "logprobs": logprobs}, error)
        except Exception as exc:  # noqa: BLE001 - as above
            self.writer.sink.fault("finish", exc)

    def _status(self, error: object) -> Status:
        return status_of(error)

    def _close(self, fields: dict[str, object], error: object) -> None:
        self.writer.record(
            self.closes, {self.names_it: self.event_id} | fields, self._parent_id, fault=fault_of(error)
        )

    def _left(self, error: BaseException | None) -> None:
        self.finish(error=error)


class ModelCall(Step):
    """One call to a model."""

    closes = EventKind.MODEL_CALL_FINISHED
    names_it = "call"
    streamed: Streamed | None = None
    broken: BaseException | None = None

    def stream(self, chunks: Iterable[Chunk], *, joiner: str | bytes = "") -> Stream[Chunk]:
        """The same chunks, unchanged, each recorded with its arrival; the call ends when they do, or are left.

        ``joiner`` is what stood between them where the agent's library took it away (lines without their ends).
        """
        return Stream(chunks, self, self._begin_stream(joiner))

    def astream(self, chunks: AsyncIterable[Chunk], *, joiner: str | bytes = "") -> AsyncStream[Chunk]:
        """As ``stream``, of an asynchronous one."""
        return AsyncStream(chunks, self, self._begin_stream(joiner))

    def _begin_stream(self, joiner: str | bytes) -> Streamed:
        if self.streamed is None:
            self.streamed = Streamed(joiner=joiner)
        self.streamed.has_ended = self.streamed.is_complete = False
        return self.streamed

    def stream_ended(self, error: BaseException | None) -> None:
        """The stream has come to an end, or was left: so does the call, unless its ``with`` is still to say so."""
        self.broken = error
        if not self.is_open:
            self.finish(error=error)

    def _left(self, error: BaseException | None) -> None:
        if error is not None or self.streamed is None or self.streamed.has_ended:
            self.finish(error=error)

    def _status(self, error: object) -> Status:
        error = error if error is not None else self.broken
        if error is None and self.streamed is not None and not self.streamed.is_complete:
            return Status.INCOMPLETE
        return status_of(error)

    def _close(self, fields: dict[str, object], error: object) -> None:
        streamed, self.streamed = self.streamed, None
        if streamed is not None:
            streamed.has_ended = True  # what comes later changes nothing in the record
        if fields["output"] is not UNSET:
            streamed = None  # the agent's own word for what came
        error = error if error is not None else self.broken
        self.broken = None  # its frames hold the agent's objects
        self.writer.record(
            self.closes,
            {"call": self.event_id} | fields,
            self._parent_id,
            fault=fault_of(error),
            streamed=streamed,
        )


class ToolExecution(Step):
    """One execution of a tool."""

    closes = EventKind.TOOL_FINISHED
    names_it = "execution"


class ToolProposal:
    """A tool call that a model asked for. What became of it are records of their own."""

    def __init__(
        self, writer: Writer, event_id: str | None, parent_id: str | None, *, name: str, call_id: str | None
    ) -> None:
        self.writer = writer
        self.event_id = event_id
        self._parent_id = parent_id
        self.name = name
        self.call_id = call_id

    def deny(self, reason: object = UNSET, *, by: object = UNSET) -> None:
        """State that it is not executed, and why."""
        try:
            fields = {"proposal": self.event_id, "reason": reason, "by": by}
            self.writer.record(EventKind.TOOL_DENIED, fields, self._parent_id)
        except Exception as exc:  # noqa: BLE001 - as above
            self.writer.sink.fault("deny", exc)


def side_effect(given: SideEffect | str | None) -> str | NotGiven:
    """A side-effect class as a record has it; absent where none was given. Raises ValueError for another word."""
    return UNSET if given is None else str(SideEffect(given))


def id_of(given: "Step | ToolProposal | str | None") -> str | NotGiven:
    """The event id of a call, a proposal or an execution, given as itself or as its id."""
    found = given.event_id if isinstance(given, Step | ToolProposal) else given
    return found if isinstance(found, str) else UNSET


def items(given: Mapping[str, object] | None) -> object:
    """A map that may not have been given."""
    return UNSET if given is None else given
