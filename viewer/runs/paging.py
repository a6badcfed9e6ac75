"""Many rows, a window of them at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from capture.limits import RUN_ROWS

Each = TypeVar("Each")


@dataclass(frozen=True, slots=True)
class Paging(Generic[Each]):
    """The window of ``every`` that begins with row ``after``, counted from 0, or with the last row."""

    every: Sequence[Each]
    after: int = 0

    @property
    def total(self) -> int:
        """All rows."""
        return len(self.every)

    @property
    def first(self) -> int:
        """The window's first row."""
        return min(self.after, max(self.total - 1, 0))

    @property
    def end(self) -> int:
        """Behind the window's last row."""
        return min(self.first + RUN_ROWS, self.total)

    @property
    def rows(self) -> Sequence[Each]:
        """The window."""
        return self.every[self.first : self.end]

    @property
    def before(self) -> int | None:
        """Where the window before begins; None where there is none."""
        return max(self.first - RUN_ROWS, 0) if self.first else None

    @property
    def behind(self) -> int | None:
        """Where the next window begins."""
        return self.end if self.end < self.total else None

    @property
    def last(self) -> int | None:
        """Where the last window begins, if that is another."""
        return (self.total - 1) // RUN_ROWS * RUN_ROWS if self.end < self.total else None
