"""The artifacts of a run's requests, read some at a time in the order in which they are looked at."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from capture.runs.pairing import Paired
from capture.runs.reading import read_artifacts
from capture_sdk.runs.records import ARTIFACT, artifact_refs

_AHEAD: Final = 50  # artifacts a reading, of
_AHEAD_BYTES: Final = 8 * 1_048_576  # so many bytes, as their events say


class Reader:
    """Gives an artifact's bytes, None for one that is not there. ``absent`` are those that were not."""

    def __init__(self, paired: Paired, *, call: str | None = None) -> None:
        calls = (each.start for each in paired.calls if call in (None, each.event_id))
        self._refs = list(_once(ref for start in calls for ref in artifact_refs(start.fields)))
        self._places = {ref[ARTIFACT]: place for place, ref in enumerate(self._refs)}
        self._held: dict[str, bytes] = {}
        self._asked: set[str] = set()
        self.absent: set[str] = set()

    def __call__(self, sha256: str) -> bytes | None:
        if sha256 not in self._asked:
            self._asked = set(self._ahead(sha256))
            self._held = read_artifacts(self._asked)
        if sha256 not in self._held:
            self.absent.add(sha256)
        return self._held.get(sha256)

    def _ahead(self, sha256: str) -> Iterator[str]:
        yield sha256
        place, room = self._places.get(sha256), _AHEAD_BYTES
        for ref in self._refs[place + 1 : place + _AHEAD] if place is not None else ():
            size = ref.get("bytes")
            room -= size if isinstance(size, int) else _AHEAD_BYTES
            if room < 0:
                return
            yield ref[ARTIFACT]


def _once(refs: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    seen = set()
    for ref in refs:
        if ref[ARTIFACT] not in seen:
            seen.add(ref[ARTIFACT])
            yield ref
