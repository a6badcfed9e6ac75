"""The client of an agent that has runs: one per process, shared by all its threads."""

import atexit
import sys
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from capture_sdk import config as configuration
from capture_sdk.client import transport_of
from capture_sdk.config import Config
from capture_sdk.delivery import FlushResult, Stats
from capture_sdk.errors import ConfigError
from capture_sdk.redact.policy import CapturePolicy
from capture_sdk.runs.delivery import EventDelivery
from capture_sdk.runs.drafts import UNSET, Writer
from capture_sdk.runs.handover import Handover, handed
from capture_sdk.runs.records import EventKind
from capture_sdk.runs.run import Hand, Run
from capture_sdk.runs.steps import Within, items
from capture_sdk.runs.verbs import Verbs
from capture_sdk.scopes import current_scope
from capture_sdk.transports import EventTransport
from capture_sdk.transports.off import OffTransport


def init(
    project_id: str | None = None,
    base_url: str | None = None,
    service_name: str | None = None,
    capture_policy: CapturePolicy | None = None,
    service_key: str | None = None,
    redis_url: str | None = None,
    *,
    agent_id: str | None = None,
    transport: EventTransport | None = None,
    **options: object,
) -> "RunClient":
    """Make a client for runs. What is not given is read from the environment, as ``Client.from_env`` does.

    A run belongs to ``agent_id``, or else to ``service_name``; ``options`` are those of ``Config``, ``transport``
    another way out (``MemoryTransport()`` in an agent's tests). Raises ConfigError at once when a setting is wrong or
    missing; a store that cannot be reached is tolerated, and its events are counted as lost.
    """
    given = {
        "base_url": base_url,
        "service_key": service_key,
        "redis_url": redis_url,
        "policy": capture_policy,
    }
    options |= {name: each for name, each in given.items() if each is not None}
    config = configuration.from_env(None, transport is None, **options)
    if config is None:
        return RunClient(OffTransport(), Config(), agent_id=agent_id or service_name)
    if agent_id is None and service_name is None:
        raise ConfigError("a run belongs to somebody: give init service_name or agent_id")
    return RunClient(
        transport or transport_of(config),
        config,
        agent_id=agent_id or service_name,
        project=project_id,
        service=service_name,
    )


class RunClient(Verbs):
    """Opens runs and delivers their events in the background. ``init`` makes one.

    Its verbs record into the run that is open where they are called. In a process that was handed a run by its
    environment they join that run, where no other is open.
    """

    def __init__(
        self,
        transport: EventTransport,
        config: Config,
        *,
        agent_id: str | None,
        project: str | None = None,
        service: str | None = None,
    ) -> None:
        self._delivery = EventDelivery(transport, config)
        self._agent_id, self._project, self._service = agent_id, project, service
        self._nowhere = Within(Writer(None, self._delivery), None)
        self._handed = self._read(configuration.handed_run())
        self._parts: list[Run] = []  # the first is of the run that the environment names, once it is joined
        _living.add(self)

    @classmethod
    def off(cls) -> Self:
        """A client that records nothing."""
        return cls(OffTransport(), Config(), agent_id=None)

    def with_run(
        self,
        name: str,
        metadata: Mapping[str, object] | None = None,
        *,
        run_id: str | None = None,
        agent_id: str | None = None,
        hand: Hand | None = None,
    ) -> Run:
        """Open a run: ``with client.with_run("claim") as run:``, or ``@client.with_run("claim")``. Never raises.

        A run ends as ``ok``, ``error`` (the exception is recorded, and raised on) or ``cancelled``. Ids are strings of
        1 to 200 characters; a run with another is run but not recorded, and counted as lost with the reason ``bad_id``.
        """
        told = {
            "name": name,
            "metadata": {} if metadata is None else metadata,
            "project": UNSET if self._project is None else self._project,
            "service": UNSET if self._service is None else self._service,
        }
        return Run(
            (self._owner(agent_id), run_id), sink=self._delivery, told=told, hand=hand, within=self._handed
        )

    def resume_run(
        self, run_id: str, metadata: Mapping[str, object] | None = None, *, agent_id: str | None = None
    ) -> Run:
        """Go on with a run that this process, or one before it, had stopped: it is unfinished again until its end."""
        return Run(
            (self._owner(agent_id), run_id),
            sink=self._delivery,
            opening=EventKind.RUN_RESUMED,
            told={"metadata": items(metadata)},
        )

    def join_run(
        self,
        handover: str | bytes | Mapping[str, str] | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> Run:
        """Take part in another process's run: ``with client.join_run(request.headers):``.

        ``handover`` is what ``run.handover()`` gave there, or headers that hold it; left out, the environment's. Where
        it names no run nothing is raised: what is recorded is lost, with the reason ``no_run``.
        """
        found = self._handed if handover is None else self._read(handover)
        told = {"metadata": items(metadata), "isPart": True}
        return Run(None, sink=self._delivery, opening=EventKind.RUN_RESUMED, told=told, handed=found)

    def _place(self) -> Within:
        scope = current_scope()
        while scope is not None:
            if isinstance(scope, Within) and scope.writer.sink is self._delivery:
                return scope
            scope = scope.next_open()
        if self._handed is None:
            return self._nowhere
        if self._parts:
            return self._parts[0]
        part = self.join_run()
        self._parts.append(part)
        if self._parts[0] is part:  # and not another thread's, which was quicker
            part.join()
        return self._parts[0]

    def _owner(self, agent_id: str | None) -> str | None:
        return self._agent_id if agent_id is None else agent_id

    def _read(self, given: str | bytes | Mapping[str, str] | None) -> Handover | None:
        try:
            return handed(given)
        except Exception as exc:  # noqa: BLE001 - promise 1: never raise into the agent
            self._delivery.fault("handover", exc)
            return None

    def stats(self) -> Stats:
        """What became of the events so far."""
        return self._delivery.stats()

    def flush(self, timeout: float = 5.0) -> FlushResult:
        """Wait, ``timeout`` seconds at most, until all is written or lost; true if all is written."""
        return self._delivery.flush(timeout)

    def close(self, timeout: float = 5.0) -> FlushResult:
        """Leave a run that was joined by the environment, flush, then stop. What is recorded afterwards is lost."""
        self.leave()
        return self._delivery.close(timeout)

    def leave(self, error: BaseException | None = None) -> None:
        """Leave the run that the environment named, if it was joined."""
        parts, self._parts = self._parts, []
        for part in parts[:1]:
            part.leave(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave(error)
        self.close()

    def __repr__(self) -> str:
        return f"RunClient({self._agent_id!r})"


_living: "weakref.WeakSet[RunClient]" = weakref.WeakSet()


def _leave() -> None:
    """The interpreter ends, perhaps by an exception that nobody caught: before delivery's own last flush."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    for client in list(_living):
        client.leave(error if isinstance(error, BaseException) else None)


atexit.register(_leave)
