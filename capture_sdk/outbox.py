"""The one door out of a seat.

An outbox wraps the real send. What is sent is sent untouched; a frozen copy, with credentials marked,
becomes the decision of the turn that is open. A message is recorded only once it has left: when the
real send raises, the error is the caller's as ever and nothing is recorded. Messages outside a turn
pass and are not recorded.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

from capture_sdk.freeze import pack, unpack
from capture_sdk.redact.redactor import Redactor

Message = TypeVar("Message")
Result = TypeVar("Result")


class _Door:
    """What both kinds of outbox share: the copies of what left while a turn is open."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._redactor = Redactor(secrets)
        self._left: list[tuple[bytes, int]] | None = None

    @property
    def secrets(self) -> frozenset[str]:
        """The credentials that have passed through, or were named: nothing recorded may hold them."""
        return self._redactor.known

    def reset(self) -> None:
        """Begin a turn: whatever an earlier one left behind is gone."""
        self._left = []

    def drain(self) -> tuple[bytes, int]:
        """End a turn: the frozen list of the messages that left, and how many marks they carry."""
        left, self._left = self._left or [], None
        return pack([unpack(copy) for copy, _ in left]), sum(marks for _, marks in left)

    def close(self) -> None:
        """End a turn without looking at what left."""
        self._left = None

    def _copy(self, message: object) -> tuple[bytes, int]:
        # Always through the redactor: a credential that passes outside a turn is learnt there.
        before = self._redactor.count
        copy = self._redactor.frozen(pack(message))
        return copy, self._redactor.count - before

    def _keep(self, copy: tuple[bytes, int]) -> None:
        if self._left is not None:
            self._left.append(copy)


class Outbox(_Door, Generic[Message, Result]):
    """A synchronous outbox: ``Outbox(connection.send)``, then ``outbox.send(message)``.

    ``secrets`` are values (tokens this seat holds) to mark wherever they occur in a message.
    """

    def __init__(self, send: Callable[[Message], Result], *, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._send = send

    def send(self, message: Message) -> Result:
        """Send ``message`` as it is; return or raise what the real send does."""
        copy = self._copy(message)  # before the send, which may change or consume the message
        result = self._send(message)
        self._keep(copy)
        return result


class AsyncOutbox(_Door, Generic[Message, Result]):
    """An asynchronous outbox: ``AsyncOutbox(websocket.send)``, then ``await outbox.send(message)``."""

    def __init__(self, send: Callable[[Message], Awaitable[Result]], *, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._send = send

    async def send(self, message: Message) -> Result:
        """Send ``message`` as it is; return or raise what the real send does."""
        copy = self._copy(message)
        result = await self._send(message)
        self._keep(copy)
        return result
