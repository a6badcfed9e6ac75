"""Asking a store for a bounded time, and what it means when there is no answer."""

import threading
import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

from django.db import connections

from capture.limits import STORE_ANSWER_SECONDS, STORE_ASKERS

Answer = TypeVar("Answer")

_askers: Final = threading.BoundedSemaphore(STORE_ASKERS)


class Silence(StrEnum):
    """Why a store gave no answer."""

    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # it wants a password, or another one
    LOADING = "loading"
    TOO_SLOW = "too_slow"


class StoreSilent(Exception):
    """A store gave no answer; ``kind`` is the name of the error that its client raised."""

    def __init__(self, why: Silence, kind: str) -> None:
        super().__init__(f"{why} ({kind})")
        self.why, self.kind = why, kind


def within(ask: Callable[[], Answer], seconds: float = STORE_ANSWER_SECONDS) -> Answer:
    """``ask()``, or StoreSilent when it takes longer, whatever the store does."""
    return begin(ask)(seconds)


def begin(ask: Callable[[], Answer]) -> Callable[[float], Answer]:
    """Ask on a thread with connections of its own; what comes back waits so many seconds for the answer.

    A store that never answers holds a bounded number of threads. When all are held, the next to ask gets
    StoreSilent at once.
    """
    if not _askers.acquire(blocking=False):
        raise StoreSilent(Silence.TOO_SLOW, "earlier questions still wait")
    answers: SimpleQueue[Answer | StoreSilent] = SimpleQueue()

    def run() -> None:
        try:
            answers.put(ask())
        except StoreSilent as exc:
            answers.put(exc)
        finally:
            connections.close_all()
            _askers.release()

    threading.Thread(target=run, name="store-asker", daemon=True).start()
    return partial(_answer, answers)


def _answer(answers: "SimpleQueue[Answer | StoreSilent]", seconds: float) -> Answer:
    try:
        answer = answers.get(timeout=max(seconds, 0))
    except Empty:
        raise StoreSilent(Silence.TOO_SLOW, "no answer in time") from None
    if isinstance(answer, StoreSilent):
        raise answer
    return answer


def ahead_of_here(clock: Callable[[], float]) -> float:
    """Seconds by which a store's clock is ahead of this machine's, at the middle of the time that asking took."""
    before = time.time()
    there = clock()
    return there - (before + time.time()) / 2
