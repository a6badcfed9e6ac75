"""Runs put together from what a file tells: the one maker of imported events and artifacts.

Ids come from the content alone, so that the same file imported again, under whatever name, adds nothing.
"""

import datetime
import hashlib
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from capture.importing.errors import FileRefused
from capture.importing.reading import write_json
from capture.limits import ENVELOPE_BYTES, IMPORT_INLINE_BYTES
from capture_sdk.errors import IdError
from capture_sdk.freeze import pack, unpack
from capture_sdk.keys import checked_id
from capture_sdk.runs.records import (
    Artifact,
    EventKind,
    RunEvent,
    RunKey,
    Status,
    artifact_ref,
    artifact_refs,
)

# What stands as the time where a file tells none: an import's own time would change with every import.
UNTOLD: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
ABSENT: Final = object()
_ID_LENGTH: Final = 32  # hex digits: 128 bits
_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Kept:
    """What stands in a body for an artifact that was made: nothing in a file can look like it."""

    ref: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One run of a file, ready for a store."""

    key: RunKey
    events: tuple[RunEvent, ...]
    artifacts: tuple[Artifact, ...]

    def count(self, kind: EventKind) -> int:
        """Events of one kind."""
        return sum(event.kind == kind for event in self.events)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader found in a file; ``notes`` say what of it could not be taken."""

    runs: tuple[ImportedRun, ...]
    notes: tuple[str, ...] = ()


class RunBuilder:
    """Makes one run, event by event, in the order of the file.

    Each event is made from a ``part``: words that name its place in the content, stable when the file grows.
    ``writer`` tells files apart that continue the same run.
    """

    def __init__(self, key: RunKey, *, writer: str = "") -> None:
        self.key = key
        self._writer = f"import:{digest(writer)}" if writer else "import"
        self._at = UNTOLD
        self._events: list[RunEvent] = []
        self._times: Counter[str] = Counter()
        self._artifacts: dict[str, Artifact] = {}
        self._proposals: dict[str, dict[str, Any]] = {}
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)
        self._latest: dict[str, str] = {}

    def begin(
        self,
        name: object,
        *,
        at: datetime.datetime | None,
        metadata: Mapping[str, object],
        outer: RunKey | None = None,
    ) -> str:
        """The run's start; ``metadata`` without what the file does not tell."""
        self.seen(at)
        told = {name: value for name, value in metadata.items() if value is not None}
        within = {"agentId": outer.agent_id, "runId": outer.run_id} if outer else ABSENT
        return self.add(EventKind.RUN_STARTED, "run", name=name, metadata=told, outer=within)

    def seen(self, at: datetime.datetime | None) -> None:
        """From here on this is the time; None leaves the one before."""
        self._at = at or self._at

    def add(self, kind: EventKind, part: str, *, parent: str | None = None, **fields: object) -> str:
        """Add an event, and give its id. Fields that are ABSENT are left out: the file does not tell them.

        A value that is small and plain stands in the body itself, any other as an artifact.
        """
        event_id = self._new_id(f"{kind}\0{part}")
        body = pack({name: self._held(value) for name, value in fields.items() if value is not ABSENT})
        sequence = len(self._events)
        self._events.append(
            RunEvent(self.key, event_id, str(kind), self._at, body, self._writer, sequence, parent)
        )
        return event_id

    def tell(self, name: str, part: str, data: object, *, parent: str | None = None) -> str:
        """Add a plain event."""
        return self.add(EventKind.EVENT, part, parent=parent, name=name, data=data)

    def answer(self, value: object) -> object:
        """A request or an answer, which is always an artifact: a text as its own bytes, anything else as JSON."""
        if value is ABSENT:
            return value
        if isinstance(value, str):
            return self.kept(value.encode("utf-8", "surrogatepass"), _TEXT)
        return self.kept(write_json(value), _JSON)

    def kept(self, data: bytes, media_type: str) -> Kept:
        """Bytes as an artifact. Raises FileRefused where they are more than a store takes."""
        if len(data) > ENVELOPE_BYTES:
            raise FileRefused(
                f"it holds a value of {len(data)} bytes, more than the {ENVELOPE_BYTES} of an artifact"
            )
        sha256 = hashlib.sha256(data).hexdigest()
        artifact = self._artifacts.setdefault(sha256, Artifact(sha256, data, media_type))
        return Kept(artifact_ref(artifact))

    def call(self, part: str, *, parent: str | None = None, **fields: object) -> str:
        """The start of a model call."""
        return self.add(EventKind.MODEL_CALL_STARTED, part, parent=parent, operation="chat", **fields)

    def answered(self, part: str, call: str, *, status: Status = Status.OK, **fields: object) -> str:
        """The end of a model call."""
        return self.add(
            EventKind.MODEL_CALL_FINISHED, part, parent=call, call=call, status=str(status), **fields
        )

    def propose(
        self, part: str, *, name: object, arguments: object, call_id: object = ABSENT, call: str | None
    ) -> str:
        """A tool that the model wants used; ``arguments`` exactly as the file has them."""
        proposal = self.add(
            EventKind.TOOL_PROPOSED,
            part,
            parent=call,
            name=name,
            arguments=arguments,
            callId=call_id,
            call=call or ABSENT,
        )
        named = _handle(call_id, name)
        self._proposals[proposal] = {"name": name}
        self._open[named].append(proposal)
        self._latest[named] = proposal
        return proposal

    def proposal_of(self, call_id: object, name: object = ABSENT) -> str | None:
        """What a result answers: the first proposal of its call id that nothing answered, else the last one."""
        named = _handle(call_id, name)
        waiting = self._open.get(named)
        return waiting.popleft() if waiting else self._latest.get(named)

    def is_proposed(self, call_id: object) -> bool:
        """Whether a proposal has this call id."""
        return _handle(call_id, ABSENT) in self._latest

    def execute(
        self,
        part: str,
        *,
        call_id: object = ABSENT,
        name: object = ABSENT,
        proposal: str | None,
        arguments: object = ABSENT,
        parent: str | None = None,
    ) -> str:
        """The start of an execution. Its name is the file's own, else its proposal's."""
        known = self._proposals.get(proposal or "", {})
        return self.add(
            EventKind.TOOL_STARTED,
            part,
            parent=parent,
            name=known.get("name") if name is ABSENT else name,
            arguments=arguments,
            proposal=proposal or ABSENT,
            callId=call_id,
        )

    def returned(
        self, part: str, execution: str, *, output: object, status: Status = Status.OK, **fields: object
    ) -> str:
        """The end of an execution."""
        return self.add(
            EventKind.TOOL_FINISHED,
            part,
            parent=execution,
            execution=execution,
            status=str(status),
            output=output,
            **fields,
        )

    def deny(self, part: str, proposal: str | None, *, reason: object, by: object, **fields: object) -> str:
        """Somebody did not let a proposal be carried out."""
        return self.add(
            EventKind.TOOL_DENIED,
            part,
            parent=proposal,
            proposal=proposal or ABSENT,
            reason=reason,
            by=by,
            **fields,
        )

    def end(self, status: Status, error: object = ABSENT) -> str:
        """The run's end, where the file tells of one."""
        return self.add(EventKind.RUN_FINISHED, "end", status=str(status), error=error)

    def build(self) -> ImportedRun:
        """The run."""
        return ImportedRun(self.key, tuple(self._events), tuple(self._artifacts.values()))

    def _held(self, value: object) -> object:
        if not isinstance(value, Kept):
            packed = pack(value)
            is_plain = len(packed) <= IMPORT_INLINE_BYTES and unpack(packed) == value
            if is_plain and not any(artifact_refs(value)):  # a file's own must not name others' artifacts
                return value
            value = self.answer(value)
        return dict(value.ref) if isinstance(value, Kept) else value

    def _new_id(self, part: str) -> str:
        """An id that this part of the content alone has; what comes a second time is a second event."""
        self._times[part] += 1
        return digest(repr((self.key.run_id, part, self._times[part])))


def digest(text: str) -> str:
    """A short name of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_LENGTH]


class Keys:
    """Makes the keys of a file's runs: what the file names twice are two runs."""

    def __init__(self, agent_id: str) -> None:
        self._agent_id = agent_id
        self._times: Counter[RunKey] = Counter()

    def key(self, *words: object) -> RunKey:
        """The key of the next run that the file names by these words."""
        key = run_key(self._agent_id, *words)
        self._times[key] += 1
        return key if self._times[key] == 1 else run_key(self._agent_id, *words, f"#{self._times[key]}")


def run_key(agent_id: str, *words: object) -> RunKey:
    """The key of a run named by these words: other words are another run. What cannot be an id has its digest."""
    run_id = "/".join(str(word).replace("%", "%25").replace("/", "%2F") for word in words)
    try:
        return RunKey(agent_id, checked_id("the run id", run_id))
    except IdError:
        return RunKey(agent_id, digest(run_id))


def _handle(call_id: object, name: object) -> str:
    """What joins a proposal and its result: the call id; without one the tool's name, as the oldest format has it."""
    return f"id:{call_id}" if isinstance(call_id, str) else f"name:{name}"
