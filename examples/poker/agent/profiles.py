"""Who sits at the tables: seven agents with a base prompt, a strategy and skills each."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

_TEXTS: Final = Path(__file__).with_name("texts")


@dataclass(frozen=True)
class Profile:
    """One agent's standing instructions. ``version`` changes when any of them does."""

    name: str
    version: str
    base: str
    skills: tuple[str, ...]

    @cached_property
    def envelope(self) -> str:
        """What opens every prompt of this agent: base prompt, strategy, skills, in this order."""
        files = [f"base_{self.base}", f"strategy_{self.name}", *(f"skill_{skill}" for skill in self.skills)]
        return "\n".join((_TEXTS / f"{file}.md").read_text(encoding="utf-8") for file in files)


def _profile(name: str, version: str, base: str, skills: str) -> Profile:
    return Profile(name, version, base, tuple(skills.split()))


PROFILES: Final = {
    profile.name: profile
    for profile in (
        _profile("river-rat", "v12", "house", "pot_odds position hand_reading bluffing bet_sizing multiway"),
        _profile("tight-tina", "v3", "house", "position pot_odds bet_sizing blinds stacks hand_reading"),
        _profile("maniac", "v7", "house", "bluffing bet_sizing position stacks hand_reading multiway blinds"),
        _profile("calling-carl", "v2", "study", "pot_odds multiway blinds hand_reading stacks position"),
        _profile(
            "professor",
            "v21",
            "study",
            "pot_odds position bet_sizing hand_reading bluffing blinds multiway stacks",
        ),
        _profile("shadow", "v5", "study", "hand_reading bluffing position bet_sizing stacks pot_odds"),
        _profile("nit-nell", "v9", "house", "stacks position pot_odds multiway blinds bluffing bet_sizing"),
    )
}
