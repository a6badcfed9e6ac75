"""A model's stream on its way to the agent: its own chunks, unchanged, and a copy of each with its time of arrival.

On every way out the call is closed once: the end, a ``break``, ``close``, an error, a dropped object, a cancelled task.
"""

import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from capture_sdk.freeze import snapshot
from capture_sdk.runs.drafts import Streamed, Writer

Chunk = TypeVar("Chunk")


class Call(Protocol):
    """The model call that a stream belongs to."""

    writer: Writer
    began: float

    def stream_ended(self, error: BaseException | None) -> None: ...


class _Watch:
    """What both kinds of stream share: the copies, and the one end."""

    _source: Any = None

    def __init__(self, source: object, call: Call, streamed: Streamed) -> None:
        self._source = source
        self._call = call
        self._streamed = streamed

    def __getattr__(self, name: str) -> Any:
        """Whatever else the agent asks of its stream is the stream's own to answer."""
        return getattr(self._source, name)

    def _keep(self, chunk: object) -> None:
        try:
            streamed = self._streamed
            if streamed.has_ended or self._call.writer.is_idle:
                return
            streamed.times.append(round((time.perf_counter() - self._call.began) * 1_000, 3))
            if streamed.bytes > self._call.writer.sink.longest:
                streamed.is_cut = True
                return
            copy = snapshot(chunk)
            streamed.chunks.append(copy)
            streamed.bytes += len(copy[0]) + 100
        except Exception as exc:  # noqa: BLE001 - promise 1: never raise into the agent
            self._call.writer.sink.fault("stream", exc)

    def _end(self, error: BaseException | None = None, *, is_complete: bool = False) -> None:
        try:
            if not self._streamed.has_ended:
                self._streamed.has_ended = True
                self._streamed.is_complete = is_complete
                self._call.stream_ended(error)
        except Exception as exc:  # noqa: BLE001 - as above
            self._call.writer.sink.fault("stream", exc)

    def __del__(self) -> None:
        if self._source is not None:
            self._end()


class Stream(_Watch, Generic[Chunk]):
    """A stream that is iterated over."""

    def __init__(self, source: Iterable[Chunk], call: Call, streamed: Streamed) -> None:
        super().__init__(source, call, streamed)
        self._chunks: Iterator[Chunk] | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Chunk:
        try:
            if self._chunks is None:
                self._chunks = iter(self._source)
            chunk = next(self._chunks)
        except StopIteration:
            self._end(is_complete=True)
            raise
        except BaseException as exc:
            self._end(exc)
            raise
        self._keep(chunk)
        return chunk

    def close(self) -> None:
        """Close the agent's stream, as far as it can be closed; what has not arrived never will."""
        try:
            close = getattr(self._source, "close", None)
            if close is not None:
                close()
        finally:
            self._end()

    def __enter__(self) -> Self:
        if hasattr(self._source, "__enter__"):
            self._source.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            if hasattr(self._source, "__exit__"):
                swallowed: bool | None = self._source.__exit__(kind, error, trace)
                return swallowed
            self.close()
        finally:
            self._end(error)
        return None


class AsyncStream(_Watch, Generic[Chunk]):
    """A stream that is iterated over asynchronously."""

    def __init__(self, source: AsyncIterable[Chunk], call: Call, streamed: Streamed) -> None:
        super().__init__(source, call, streamed)
        self._chunks: AsyncIterator[Chunk] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        try:
            if self._chunks is None:
                self._chunks = aiter(self._source)
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._end(is_complete=True)
            raise
        except BaseException as exc:
            self._end(exc)
            raise
        self._keep(chunk)
        return chunk

    async def aclose(self) -> None:
        """As ``Stream.close``; a stream that calls it ``close`` is closed all the same."""
        try:
            close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
            result: Any = None if close is None else close()
            if hasattr(result, "__await__"):
                await result
        finally:
            self._end()

    async def close(self) -> None:
        """As ``aclose``: what the libraries of several providers call it."""
        await self.aclose()

    async def __aenter__(self) -> Self:
        if hasattr(self._source, "__aenter__"):
            await self._source.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            if hasattr(self._source, "__aexit__"):
                swallowed: bool | None = await self._source.__aexit__(kind, error, trace)
                return swallowed
            await self.aclose()
        finally:
            self._end(error)
        return None
