"""What the owner of an agent wants done with which field of its records.

A rule has a path, an action and a reason. Paths are dotted, from the record's root
(``knowledge.notes.3``, ``decision.*.note``, ``prompt``, ``response``); ``*`` is one step, ``**`` any number
of them, a bare key is that key at any depth. A dot or a backslash within a key is written ``\\.`` and ``\\\\``.
The first rule that matches decides.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from capture_sdk.errors import ConfigError
from capture_sdk.redact.marks import Keys

DEFAULTS_VERSION: Final = "defaults-1"  # changes with every change of names or patterns
_STEP: Final = re.compile(r"((?:[^.\\]|\\.)+)(?:\.|$)", re.DOTALL)

Path = tuple[str, ...]


class Action(StrEnum):
    """What happens to a value."""

    CAPTURE = "capture"  # kept, after the default patterns
    DROP = "drop"  # null
    MASK = "mask"  # [REDACTED:rule:length]
    HASH = "hash"  # [HASHED:rule:length:digest]
    METADATA_ONLY = "metadata_only"  # {"$metadata": {type, bytes, sha256}}
    ARTIFACT_ONLY = (
        "artifact_only"  # {"$artifact": {type, bytes, sha256}}, the value apart, in the same record
    )
    ENCRYPT = "encrypt"  # [ENCRYPTED:rule:length:token]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a policy. Raises ConfigError for an action or a path that is none."""

    path: str
    action: Action | str
    reason: str = ""
    steps: Path = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "action", _action(self.action, f"the rule for {self.path!r}"))
        object.__setattr__(self, "steps", _steps(self.path))

    @property
    def name(self) -> str:
        """What its marks say: the reason where one is given, else the path."""
        return self.reason or self.path

    def matches(self, path: Sequence[str]) -> bool:
        """Whether it speaks of the value at ``path``."""
        return _matches(self.steps, path)


@dataclass(frozen=True, slots=True)
class CapturePolicy:
    """A set of rules, and what happens to everything that no rule names.

    With the default action ``capture`` prompt, response and reasoning are kept byte for byte unless a rule names
    them; any other default action stands for them too. ``version`` goes with every record.
    """

    default_action: Action | str = Action.CAPTURE
    rules: Sequence[Rule] = ()
    keys: Keys = field(default_factory=Keys)
    version: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "default_action", _action(self.default_action, "default_action"))
        object.__setattr__(self, "rules", tuple(self.rules))
        for rule in self.rules:
            if not isinstance(rule, Rule):
                raise ConfigError(f"a policy's rules are Rule objects, not {type(rule).__name__}")
        self._need_keys()
        object.__setattr__(self, "version", _version(self))

    def decide(self, path: Sequence[str]) -> Rule | None:
        """The first rule that matches ``path``, if any."""
        return next((rule for rule in self.rules if rule.matches(path)), None)

    def names(self, field_name: str) -> bool:
        """Whether it says anything about a whole field that is byte-faithful by default."""
        return self.default_action is not Action.CAPTURE or self.decide((field_name,)) is not None

    def _need_keys(self) -> None:
        """An action that cannot be done must not be found out when the first value is withheld."""
        wanted = {self.default_action, *(rule.action for rule in self.rules)}
        if Action.ENCRYPT in wanted and self.keys.encryption is None:
            raise ConfigError("a rule says encrypt: give the policy keys=Keys(encryption=<Fernet key>)")


def _action(value: Action | str, where: str) -> Action:
    try:
        return Action(value)
    except ValueError:
        raise ConfigError(f"{where} has the action {value!r}: one of {', '.join(Action)} is needed") from None


def _steps(path: str) -> Path:
    """The steps of a dotted path; a bare key stands for itself at any depth."""
    if not isinstance(path, str) or not path:
        raise ConfigError(f"a rule's path is a dotted text, not {path!r}")
    steps, place = [], 0
    while place < len(path):
        match = _STEP.match(path, place)
        if match is None:
            raise ConfigError(f"the path {path!r} has an empty step")
        steps.append(match[1])
        place = match.end()
    if path.endswith(".") and not path.endswith("\\."):
        raise ConfigError(f"the path {path!r} ends in a dot")
    if len(steps) == 1 and steps[0] not in ("*", "**"):
        steps.insert(0, "**")
    return tuple(step if step in ("*", "**") else re.sub(r"\\(.)", r"\1", step) for step in steps)


def _matches(steps: Sequence[str], path: Sequence[str]) -> bool:
    """Whether the pattern's steps cover the whole path: a table, so that many ``**`` stay cheap."""
    reachable = [True] + [False] * len(path)
    for step in steps:
        if step == "**":
            first = next((place for place, here in enumerate(reachable) if here), len(reachable))
            reachable = [place >= first for place in range(len(reachable))]
        else:
            reachable = [False] + [
                here and step in ("*", key) for here, key in zip(reachable, path, strict=False)
            ]
    return reachable[-1]


def _version(policy: CapturePolicy) -> str:
    """The default patterns' version, and a digest of whatever the policy adds to them."""
    if not policy.rules and policy.default_action is Action.CAPTURE:
        return DEFAULTS_VERSION
    said = [policy.default_action, *([rule.path, rule.action, rule.reason] for rule in policy.rules)]
    return f"{DEFAULTS_VERSION}+{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]}"
