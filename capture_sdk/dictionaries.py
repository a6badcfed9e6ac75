"""One earlier turn of an agent as the zstd dictionary of its next ones.

Consecutive turns repeat far more than their envelope. A dictionary is a blob like an envelope: stored once
under the sha256 of its content, renewed by each turn that uses it, sent again when gone. A turn depends on that
one blob and never on a chain. Records that are very large stand alone.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from capture_sdk.codec import Dictionary, DictionaryError, frame, frame_with

_USES: Final = 16  # turns that share a dictionary; measured best between 8 and 64
_SAMPLES: Final = 4  # earlier records that the next dictionary's tables are made from
_LARGEST: Final = 128 * 1024  # bytes of a record that may be, or use, a dictionary
_AGENTS: Final = 64  # each holds a dictionary of some 100 KB with its tables


@dataclass(slots=True)
class _Group:
    dictionary: Dictionary
    uses: int = 0
    recent: list[bytes] = field(default_factory=list)


class Dictionaries:
    """The dictionary of each agent, changed every few turns. For one thread."""

    def __init__(self) -> None:
        self._groups: OrderedDict[str, _Group] = OrderedDict()

    def frame(self, agent_id: str, packed: bytes) -> tuple[bytes, str | None, bytes | None]:
        """Encode a packed record; returns it with the hash and the stored bytes of the dictionary it needs."""
        if len(packed) > _LARGEST:
            return frame(packed), None, None
        group = self._groups.pop(agent_id, None)
        if group is None or group.uses >= _USES:
            try:
                group = _Group(Dictionary(packed, group.recent if group is not None else ()))
            except DictionaryError:
                return frame(packed), None, None  # nothing to make tables from: this one stands alone
        self._groups[agent_id] = group
        if len(self._groups) > _AGENTS:
            self._groups.popitem(last=False)
        group.uses += 1
        group.recent = [*group.recent[1 - _SAMPLES :], packed]
        return frame_with(group.dictionary, packed), group.dictionary.hash, group.dictionary.stored
