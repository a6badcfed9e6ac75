"""The two stores of runs, each of which may not answer."""

from collections.abc import Callable
from typing import TypeVar

from capture.buffer import BufferUnavailable
from capture.durable import DurableUnavailable, ask
from capture.hands import StoresUnavailable
from capture.runs.hot import RunBuffer

Answer = TypeVar("Answer")


def from_buffer(read: Callable[[RunBuffer], Answer]) -> Answer | None:
    """The buffer's answer, or None when it does not answer: a lost buffer is told, and not fatal."""
    try:
        return read(RunBuffer.connect())
    except BufferUnavailable:
        return None


def from_postgres(read: Callable[[], Answer]) -> Answer | None:
    """The durable store's answer, or None when it does not answer. A wrong query still raises."""
    try:
        return ask(read)
    except DurableUnavailable:
        return None


def neither() -> StoresUnavailable:
    """What a reader is told when no store answers."""
    return StoresUnavailable("neither the buffer nor the durable store answers")
