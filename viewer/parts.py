"""Parts of a turn as bytes to download, and the words for what a pin did."""

import json
from enum import StrEnum
from typing import Final

from django.contrib import messages
from django.http import HttpResponse

from capture.api.shapes import attempt_json
from capture.merge import CapturedTurn, HandView
from capture.pins.pin import Pin, PinStatus
from capture_sdk.freeze import jsonable, unpack
from capture_sdk.prompt import Prompt, text_bytes


class Part(StrEnum):
    """What can be downloaded of a turn."""

    PROMPT = "prompt"
    ENVELOPE = "envelope"
    REMAINDER = "remainder"
    RESPONSE = "response"
    REASONING = "reasoning"
    KNOWLEDGE = "knowledge"
    DECISION = "decision"
    UNSENT = "unsent"
    ATTEMPTS = "attempts"


SUFFIX: Final = {
    Part.PROMPT: "bin",
    Part.ENVELOPE: "bin",
    Part.REMAINDER: "bin",
    Part.RESPONSE: "bin",
    Part.REASONING: "bin",
    Part.KNOWLEDGE: "json",
    Part.DECISION: "json",
    Part.UNSENT: "json",
    Part.ATTEMPTS: "json",
}


def raw_bytes(turn: CapturedTurn, part: Part) -> bytes | None:
    """The exact bytes of a text, or the JSON form of a value; None when it was not captured."""
    record = turn.record
    if record is None:
        return None
    if part in (Part.PROMPT, Part.ENVELOPE, Part.REMAINDER):
        return _prompt_bytes(record.prompt, part) if record.prompt is not None else None
    if part in (Part.RESPONSE, Part.REASONING):
        text = record.response if part is Part.RESPONSE else record.reasoning
        return None if text is None else text_bytes(text)
    if part is Part.ATTEMPTS:
        return _json_bytes([attempt_json(each) for each in record.attempts])
    frozen = {
        Part.KNOWLEDGE: record.knowledge,
        Part.DECISION: record.decision,
        Part.UNSENT: record.unsent,
    }[part]
    return None if frozen is None else _json_bytes(unpack(frozen))


def _json_bytes(value: object) -> bytes:
    return json.dumps(jsonable(value), indent=2).encode()


def _prompt_bytes(prompt: Prompt, part: Part) -> bytes | None:
    if part is Part.PROMPT:
        return prompt.whole()
    return prompt.envelope if part is Part.ENVELOPE else prompt.remainder


def download(content: bytes, name: str) -> HttpResponse:
    """An attachment that no browser interprets."""
    response = HttpResponse(content, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def sharing(view: HandView, turn: CapturedTurn) -> int:
    """How many other turns of the view have the same envelope."""
    mine = _env_hash(turn)
    return sum(mine is not None and _env_hash(other) == mine for other in view.turns) - (mine is not None)


def outcome_message(agent: str, outcome: Pin) -> tuple[int, str]:
    """What a pin did for one agent, with the weight the message deserves.

    It begins with a word of ours: the admin writes a message's first letter large, and ids stay as they are.
    """
    if outcome.status is PinStatus.NOTHING_TO_CAPTURE:
        gone = f": {outcome.missing} of its turns can no longer be kept" if outcome.missing else ""
        return messages.WARNING, f"Nothing to keep of {agent}{gone}"
    new = f"Kept {outcome.inserted} of {agent}" if outcome.inserted else f"Already kept: {agent}"
    said = f"{new}, {outcome.total} in all"
    if outcome.missing:
        return messages.WARNING, f"{said}, {outcome.missing} missing"
    return messages.SUCCESS, said


def _env_hash(turn: CapturedTurn) -> str | None:
    return turn.record.prompt.env_hash if turn.record is not None and turn.record.prompt is not None else None
