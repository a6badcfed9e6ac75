"""The one door out of a seat.

An outbox wraps the real send. What is sent is sent untouched; a copy becomes the decision of the turn that is
open, and loses its credentials before it leaves the process. A message whose send fails is recorded as
such: what never left is not a decision, and the error is the caller's as ever. Messages outside a turn
pass and are not recorded.
"""

import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Generic, TypeVar

from capture_sdk.freeze import settle, snapshot, unpack
from capture_sdk.redact.policy import CapturePolicy
from capture_sdk.redact.redactor import Redactor
from capture_sdk.turns import Sent, Turn, current_turn, latest

Message = TypeVar("Message")
Result = TypeVar("Result")

_OUTSIDE_KEPT: Final = 32  # messages outside a turn that are still to be searched for credentials
_OUTSIDE_BYTES: Final = 64 * 1024  # a larger one is no login


class _Door:
    """What both kinds of outbox share: the copies of what left while a turn is open."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(secret for secret in secrets if secret)
        self._outside: deque[Sent] = deque(maxlen=_OUTSIDE_KEPT)
        self._turn: Turn | None = None
        # Of what is learnt, by the delivery thread and by whoever asks for a charge; no send waits for it.
        self._learning = threading.Lock()

    @property
    def secrets(self) -> frozenset[str]:
        """The credentials that were named or have passed through: nothing recorded may hold them."""
        with self._learning:
            self._learn_from_outside()
            return self._secrets

    def learn(self, secrets: frozenset[str]) -> None:
        """Take in credentials that were found while a turn was sealed."""
        with self._learning:
            self._secrets |= secrets

    def begin(self, turn: Turn) -> None:
        """Begin a turn: what passes from now on is its decision."""
        self._turn = turn

    def _keep(self, packed: bytes, unsettled: bool, error: BaseException | None = None) -> None:
        """Add a message to the turn that is open here; else to the seat's own, in whatever context it is."""
        turn = latest.get()
        if turn is None or turn.outer is not None or turn.outbox is not self or not turn.is_open:
            turn = current_turn()
            if turn is None or turn.outbox is not self:
                turn = self._turn
        copy = (packed, unsettled, None if error is None else type(error).__name__)
        if turn is not None and turn.is_open and turn.sent is not None:
            turn.sent.append(copy)
        elif len(packed) <= _OUTSIDE_BYTES:
            self._outside.append(copy)  # it may be the login that holds the token

    def _learn_from_outside(self) -> None:
        while self._outside:
            packed, unsettled, _ = self._outside.popleft()
            redactor = Redactor(_DEFAULTS, self._secrets)
            redactor.value(unpack(settle(packed, unsettled)), "decision")
            self._secrets |= redactor.known


class Outbox(_Door, Generic[Message, Result]):
    """A synchronous outbox: ``Outbox(connection.send)``, then ``outbox.send(message)``.

    ``secrets`` are values (tokens this seat holds) to mark wherever they occur in a record.
    """

    def __init__(self, send: Callable[..., Result], *, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._send = send

    def send(self, message: Message, *args: object, **kwargs: object) -> Result:
        """Send ``message`` as it is; return or raise what the real send does. Further arguments are handed on."""
        packed, unsettled = snapshot(message)  # before the send, which may change or consume the message
        try:
            result = self._send(message, *args, **kwargs)
        except BaseException as exc:
            self._keep(packed, unsettled, exc)
            raise
        self._keep(packed, unsettled)
        return result


class AsyncOutbox(_Door, Generic[Message, Result]):
    """An asynchronous outbox: ``AsyncOutbox(websocket.send)``, then ``await outbox.send(message)``."""

    def __init__(self, send: Callable[..., Awaitable[Result]], *, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._send = send

    async def send(self, message: Message, *args: object, **kwargs: object) -> Result:
        """Send ``message`` as it is; return or raise what the real send does. Further arguments are handed on."""
        packed, unsettled = snapshot(message)
        try:
            result = await self._send(message, *args, **kwargs)
        except BaseException as exc:
            self._keep(packed, unsettled, exc)
            raise
        self._keep(packed, unsettled)
        return result


_DEFAULTS: Final = CapturePolicy()
