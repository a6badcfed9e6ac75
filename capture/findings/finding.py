"""The shape of a finding."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. ``seen`` and ``means`` are sentences, ``remedy`` an instruction."""

    id: str
    seen: str
    means: str
    remedy: str
