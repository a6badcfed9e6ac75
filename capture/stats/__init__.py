"""How much is kept, how well repetition is stored once, and whether anything grows that should not."""

from collections.abc import Callable
from dataclasses import dataclass

from capture.buffer import BufferUnavailable
from capture.hands import StoresUnavailable
from capture.stats.durable import DurableFigures, durable_figures
from capture.stats.hot import BufferFigures, buffer_figures

__all__ = ["BufferFigures", "DurableFigures", "Stats", "collect"]


@dataclass(frozen=True, slots=True)
class Stats:
    """Both stores' figures; None for one that did not answer."""

    buffer: BufferFigures | None
    durable: DurableFigures | None

    @property
    def down(self) -> list[str]:
        """The stores that did not answer."""
        stores = {"buffer": self.buffer, "durable": self.durable}
        return [name for name, figures in stores.items() if figures is None]


def collect(*, on_keys: Callable[[int], object]) -> Stats:
    """Ask both stores; ``on_keys`` is told how many keys of the buffer were looked at. Changes nothing."""
    return Stats(_buffer(on_keys), _durable())


def _buffer(on_keys: Callable[[int], object]) -> BufferFigures | None:
    try:
        return buffer_figures(on_keys=on_keys)
    except BufferUnavailable:
        return None


def _durable() -> DurableFigures | None:
    try:
        return durable_figures()
    except StoresUnavailable:
        return None
