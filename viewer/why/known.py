"""What an agent knew at one turn against what it knew at another, path by path."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from capture.limits import KNOWN_CHANGES, KNOWN_COUNTED, KNOWN_DEPTH
from capture_sdk.freeze import repack, unpack
from viewer.why.values import Shown, named, opened, shown

Kind = Literal["added", "removed", "changed"]


class _Nothing(Enum):
    """Stands for a value that is not there: None is one that is."""

    NOTHING = "nothing"


NOTHING = _Nothing.NOTHING
_COMPARED_WHOLE: Final = (
    1,
    2,
)  # floors on which most of a knowledge is the same: packed, that is seen at once


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: where, what kind, and the value before and after, None where there was none."""

    path: str
    kind: Kind
    before: Shown | None
    after: Shown | None


@dataclass(frozen=True, slots=True)
class KnowledgeDiff:
    """The first changes in the order of the knowledge, and how many of each kind there are in all.

    ``is_counted`` is false where there are more than are counted.
    """

    changes: tuple[Change, ...]
    added: int
    removed: int
    changed: int
    is_counted: bool = True

    @property
    def total(self) -> int:
        """All changes, shown or not."""
        return self.added + self.removed + self.changed

    @property
    def not_shown(self) -> int:
        """Those that are counted only."""
        return self.total - len(self.changes)


def knowledge_diff(before: bytes | None, after: bytes | None) -> KnowledgeDiff | None:
    """Compare two frozen knowledges; None where one of them was not captured."""
    if before is None or after is None:
        return None
    changes: list[Change] = []
    counts = {"added": 0, "removed": 0, "changed": 0}
    found = _differences("", unpack(before), unpack(after), 0)
    for path, was, now in itertools.islice(found, KNOWN_COUNTED):
        kind: Kind = "added" if was is NOTHING else "removed" if now is NOTHING else "changed"
        counts[kind] += 1
        if len(changes) < KNOWN_CHANGES:
            changes.append(Change(path or "knowledge", kind, _shown(was), _shown(now)))
    return KnowledgeDiff(tuple(changes), **counts, is_counted=next(found, None) is None)


def _differences(
    path: str, before: object, after: object, depth: int
) -> Iterator[tuple[str, object, object]]:
    if before is NOTHING or after is NOTHING:
        yield path, before, after
        return
    if depth in _COMPARED_WHOLE and _is_same(before, after):
        return
    (old_kind, old), (new_kind, new) = opened(before), opened(after)
    if depth < KNOWN_DEPTH and old_kind == new_kind:
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _of_mapping(path, old, new, depth + 1)
            return
        if isinstance(old, list) and isinstance(new, list):
            yield from _of_list(path, old, new, depth + 1)
            return
    if not _is_same(before, after):
        yield path, before, after


def _of_mapping(
    path: str, old: dict[object, object], new: dict[object, object], depth: int
) -> Iterator[tuple[str, object, object]]:
    for key in [*old, *(key for key in new if key not in old)]:
        yield from _differences(named(path, key), old.get(key, NOTHING), new.get(key, NOTHING), depth)


def _of_list(
    path: str, old: list[object], new: list[object], depth: int
) -> Iterator[tuple[str, object, object]]:
    """By position, since a memory appends: what one list has beyond the other was added or removed."""
    for place, (was, now) in enumerate(itertools.zip_longest(old, new, fillvalue=NOTHING)):
        yield from _differences(f"{path}[{place}]", was, now, depth)


def _is_same(before: object, after: object) -> bool:
    """The same kind and the same value: 1, 1.0 and True are three things, and NaN is NaN."""
    return repack(before) == repack(after)


def _shown(value: object) -> Shown | None:
    return None if value is NOTHING else shown(value)
