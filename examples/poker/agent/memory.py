"""What a hosted agent remembers: the frames its table sends, each kind in its own way.

``game_state`` overwrites, ``your_turn`` carries only what may be done now, ``player_action`` appends (the
agent's own echo too), ``hand_result`` accumulates up to twenty. A lost connection takes the log with it.
"""

from typing import Any, Final

HANDS_REMEMBERED: Final = 20

Frame = dict[str, Any]


class Memory:
    """One seat's memory. Everything in it goes on changing while a turn waits for its model."""

    def __init__(self) -> None:
        self.state: Frame = {}
        self.action_log: list[Frame] = []
        self.hand_history: list[Frame] = []
        self.notes: dict[str, dict[str, int]] = {}

    def take_in(self, frame: Frame) -> None:
        """Remember one frame; kinds that are not memory are left alone."""
        match frame["type"]:
            case "game_state":
                self._overwrite(frame)
            case "player_action":
                self.action_log.append(frame)
                self._note(frame)
            case "hand_result":
                self.hand_history = [*self.hand_history, frame][-HANDS_REMEMBERED:]

    def lose_connection(self) -> None:
        """What was said while nobody listened, and before, is gone with the connection."""
        self.action_log = []

    def _overwrite(self, frame: Frame) -> None:
        if frame["handNumber"] != self.state.get("handNumber"):
            self.action_log = []
        self.state = frame

    def _note(self, frame: Frame) -> None:
        counts = self.notes.setdefault(frame["agentId"], {})
        counts[frame["action"]] = counts.get(frame["action"], 0) + 1
