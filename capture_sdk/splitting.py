"""Where to split a prompt that its assembler gives in one piece, learnt from the agent's own prompts.

The envelope is what this agent's prompts have in common from their first byte. It is proposed when two of
them begin alike, and used as long as prompts begin with it; where they stop being equal is a byte offset,
and the joiner is empty. A few envelopes are kept for each agent, for one that changes between skills.
"""

import hashlib
from collections import OrderedDict
from typing import Final

from capture_sdk.prompt import Prompt, join

_SHORTEST: Final = 256  # bytes: a shorter envelope saves less than its key costs
_ENVELOPES: Final = 4  # for each agent
_RECENT: Final = 4  # prompts remembered for each agent
_LONGEST_KEPT: Final = 4 * 1024 * 1024  # bytes of a prompt that is remembered
_AGENTS: Final = 64
_PATIENCE: Final = 3  # prompts that share much more than their envelope before a longer one is minted


class Splitter:
    """Knows a few envelopes and recent prompts of each agent. For one thread."""

    def __init__(self) -> None:
        self._agents: OrderedDict[str, _Habits] = OrderedDict()

    def split(self, agent_id: str, prompt: bytes) -> int:
        """The byte offset at which to split this agent's prompt; 0 means to keep it whole."""
        habits = self._agents.pop(agent_id, None) or _Habits()
        self._agents[agent_id] = habits
        if len(self._agents) > _AGENTS:
            self._agents.popitem(last=False)
        return habits.split(prompt)


class _Habits:
    """What one agent's prompts have been like."""

    def __init__(self) -> None:
        self._envelopes: list[bytes] = []
        self._recent: list[bytes] = []
        self._longer = 0

    def split(self, prompt: bytes) -> int:
        shared = max((_shared(prompt, other) for other in self._recent), default=0)
        known = max((len(each) for each in self._envelopes if prompt.startswith(each)), default=0)
        # Twice as much in common, turn after turn: the envelope was learnt from two unlike prompts.
        self._longer = self._longer + 1 if known and shared >= 2 * known else 0
        if shared >= _SHORTEST and (not known or self._longer >= _PATIENCE):
            known = self._mint(prompt, shared)
        self._remember(prompt)
        return known

    def _mint(self, prompt: bytes, shared: int) -> int:
        """A new envelope: up to the last line that is whole in both, for a number may begin alike by chance."""
        line = prompt.rfind(b"\n", _SHORTEST, shared)
        length = line + 1 if line >= shared // 2 else shared
        self._envelopes = [prompt[:length], *self._envelopes][:_ENVELOPES]
        self._longer = 0
        return length

    def _remember(self, prompt: bytes) -> None:
        if len(prompt) <= _LONGEST_KEPT:
            self._recent = [prompt, *self._recent][:_RECENT]


def split_at(prompt: bytes, offset: int, *, is_text: bool, is_messages: bool = False) -> Prompt:
    """Seal a prompt split at a byte offset (0: kept whole).

    A split that does not rejoin to the same sha256 is not used.
    """
    sha256 = hashlib.sha256(prompt).hexdigest()
    envelope, remainder = prompt[:offset], prompt[offset:]
    if not offset or hashlib.sha256(join(envelope, b"", remainder)).hexdigest() != sha256:
        return Prompt(b"", b"", prompt, None, sha256, is_text, is_messages)
    return Prompt(
        envelope, b"", remainder, hashlib.sha256(envelope).hexdigest(), sha256, is_text, is_messages
    )


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two prompts have in common from the first: by halving, each step one C comparison."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high - 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low
